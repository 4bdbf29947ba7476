# Completes dmlop in bash; from 'dmlop completion bash'.

# Those of the arguments that begin like $word, which is to be completed.
_dmlop_words() {
  local one
  for one; do
    [[ $one != "$word"* ]] || COMPREPLY+=("$one")
  done
}
_dmlop_names() {
  compopt -o nospace 2>/dev/null
  _dmlop_words "${@/%/=}"
}
# Paths as they are called, whatever the word has of quotes and backslashes; bash writes its own.
# Folders, and the files with the extensions or, where there are none, all files.
_dmlop_paths() {  # -d|-f EXTENSION...
  local name=${word#[\"\']} path extension found
  compopt -o filenames 2>/dev/null
  mapfile -t found < <(compgen "$1" -- "${name//\\/}")
  for path in "${found[@]}"; do
    if [[ -d $path ]]; then
      COMPREPLY+=("$path")
      continue
    fi
    for extension in "${@:2}"; do
      [[ $path != *.$extension ]] || COMPREPLY+=("$path")
    done
  done
  (($# > 1 && ${#COMPREPLY[@]} > 0)) || COMPREPLY=("${found[@]}")
}
_dmlop_files() { _dmlop_paths -f "$@"; }
_dmlop_folders() { _dmlop_paths -d; }
_dmlop_named_files() {
  word=${word#*=}
  _dmlop_paths -f "$@"
}
# Words for one side of a comparison, or for both.
_dmlop_sided() {
  if [[ $word == *=* ]]; then
    word=${word#*=}
    _dmlop_words "$@"
    return
  fi
  _dmlop_words "$@"
  [[ actual != "$word"* && expected != "$word"* ]] || _dmlop_names actual expected
}
# Puts names of the descriptor into $listed; they may have any characters.
_dmlop_list() {
  local descriptor=${arguments[0]#[\"\']}
  descriptor=${descriptor%[\"\']}
  mapfile -t listed < <("${words[0]/#\~\//$HOME/}" explain --list "$1" "${line[@]}" "${descriptor/#\~\//$HOME/}" 2>/dev/null)
  ((${#listed[@]} == 0)) || mapfile -t listed < <(printf '%q\n' "${listed[@]}")
}
_dmlop_tensors() {
  _dmlop_list tensors
  _dmlop_names "${listed[@]}"
  COMPREPLY=("${COMPREPLY[@]%=}")
}
_dmlop_dispatchables() {
  _dmlop_list dispatchables
  _dmlop_words "${listed[@]}"
}
_dmlop_kept() {
  if [[ $word == *=* ]]; then
    _dmlop_named_files "$@"
  else
    _dmlop_list filled
    _dmlop_names "${listed[@]}"
  fi
}
# Offers what may stand for $word, behind $before and $arguments.
_dmlop_offer() {
  local options valued other skip= line=() listed=()
  case $command in
@OPTIONS@
  esac
  for other in "${words[@]:first:${#words[@]}-first-1}"; do
    if [[ -n $skip ]]; then
      [[ $skip != --line ]] || line=("--line=$other")
      skip=
    elif [[ $other != -?* ]]; then
      arguments+=("$other")
    elif [[ $other == --line=* ]]; then
      line=("$other")
    elif [[ " $valued " == *" $other "* ]]; then
      skip=$other
    fi
  done
  case $command:$before in
@VALUES@
  esac
  if [[ $word == -* ]]; then
    _dmlop_words $options
    return
  fi
  case $command:${#arguments[@]} in
@ARGUMENTS@
  esac
}
_dmlop() {
  # bash takes '=' and ':' for words of their own.
  local words=() arguments=() piece=${COMP_WORDS[COMP_CWORD]} command= first=1 i
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    if [[ $i -gt 1 && (${COMP_WORDS[i]} == [=:] || ${COMP_WORDS[i-1]} == [=:]) ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  [[ $piece != [=:] ]] || piece=
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    case ${words[i]} in
      @COMMANDS@) command=${words[i]} first=$((i + 1)); break ;;
    esac
  done
  local typed=${words[-1]} before=${words[-2]}
  local word=$typed
  if [[ $typed == -*=* ]]; then
    before=${typed%%=*} word=${typed#*=}
  fi
  COMPREPLY=()
  _dmlop_offer
  # What bash completes is the last of its pieces.
  local head=${typed%"$word"} cut=${typed%"$piece"} whole
  for i in "${!COMPREPLY[@]}"; do
    whole=$head${COMPREPLY[i]}
    COMPREPLY[i]=${whole:${#cut}}
  done
}
complete -F _dmlop dmlop
