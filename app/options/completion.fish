# Completes dmlop in fish; from 'dmlop completion fish'.
set -g _dmlop_valued@VALUED@
# Prints the command, or none, and the arguments behind it that are typed before.
function _dmlop_typed
    set -l command none
    set -l arguments
    set -l skip no
    for word in (commandline -opc)[2..]
        if test $skip = yes
            set skip no
        else if string match -q -- '-?*' $word
            contains -- "$command $word" $_dmlop_valued; and set skip yes
        else if test $command != none
            set -a arguments (string escape -- $word)
        else if contains -- $word @COMMANDS@
            set command $word
        end
    end
    printf '%s\n' $command $arguments
end
# Whether that is the command, with so many arguments behind it.
function _dmlop_in
    set -l typed (_dmlop_typed)
    test "$typed[1]" = $argv[1]; or return
    set -q argv[2]; or return 0
    test (count $typed) -eq (math $argv[2] + 1)
end
function _dmlop_words
    printf '%s\n' $argv
end
function _dmlop_names
    printf '%s=\n' $argv
end
# What is typed of an option's value, which may stand behind "=", or of an argument.
function _dmlop_value
    string replace -r -- '^-[^=]*=' '' (commandline -ct)
end
# Folders, and the files with the extensions or, where there are none, all files.
function _dmlop_files
    _dmlop_paths (_dmlop_value) $argv
end
function _dmlop_paths
    set -l paths (complete -C "__fish_command_without_completions $argv[1]")
    set -l endings (string escape --style=regex -- .$argv[2..])
    set -l fitting (string match -r -- ".*(?:/|"(string join '|' $endings)")\$" $paths)
    test (count $argv) -gt 1; and set -q fitting[1]; and set paths $fitting
    printf '%s\n' $paths
end
function _dmlop_named_files
    set -l value (_dmlop_value)
    set -l name (string match -r -- '^[^=]*=' $value)
    _dmlop_paths (string replace -r -- '^[^=]*=' '' $value) $argv | string replace -r -- '^' "$name"
end
function _dmlop_folders
    _dmlop_files | string match -- '*/'
end
# Words for one side of a comparison, or for both.
function _dmlop_sided
    set -l side (string match -r -- '^[^=]*=' (_dmlop_value))
    test -n "$side"; or printf '%s\n' actual= expected=
    set -q argv[1]; and string replace -r -- '^' "$side" $argv
end
# Names of the descriptor.
function _dmlop_list
    set -l typed (_dmlop_typed)
    set -l descriptor (string unescape -- $typed[2] | string collect | string replace -r '^~/' "$HOME/")
    set -l words (commandline -opc)
    set -l line (string match -- '--line=*' $words)
    set -l at (contains -i -- --line $words); and set line --line=$words[(math $at + 1)]
    $words[1] explain --list $argv[1] $line "$descriptor" 2>/dev/null
end
# An index or a byte follows, and so no space: fish writes none while there are two to choose from.
function _dmlop_tensors
    for tensor in (_dmlop_list tensors)
        printf '%s\n' "$tensor" "$tensor@"
    end
end
function _dmlop_dispatchables
    _dmlop_list dispatchables
end
function _dmlop_kept
    if string match -q -- '*=*' (_dmlop_value)
        _dmlop_named_files $argv
    else
        _dmlop_list filled | string replace -r -- '$' =
    end
end
complete -c dmlop -f
@COMPLETIONS@
