#compdef dmlop
# Completes dmlop in zsh; from 'dmlop completion zsh'.
_dmlop_named_files() {
  compset -P 1 '*='
  _files "$@"
}
# Words for one side of a comparison, or for both.
_dmlop_sided() {
  compset -P 1 '*=' || compadd -S= -- actual expected
  compadd "$@"
}
# Puts names of the descriptor, which is the argument before, into $listed.
_dmlop_list() {
  local descriptor=${(Q)line[1]}
  local -a of_line=(${opt_args[--line]:+--line=$opt_args[--line]})
  listed=(${(f)"$(${program/#\~\//$HOME/} explain --list $1 $of_line "${descriptor/#\~\//$HOME/}" 2>/dev/null)"})
}
_dmlop_tensors() {
  local -a listed
  _dmlop_list tensors
  compadd "$@" -S '' -a listed
}
_dmlop_dispatchables() {
  local -a listed
  _dmlop_list dispatchables
  compadd "$@" -a listed
}
_dmlop_kept() {
  local -a listed
  if compset -P 1 '*='; then
    _files "$@"
  else
    _dmlop_list filled
    compadd -S= -a listed
  fi
}
_dmlop() {
  local program=${(Q)words[1]}
  local -a dmlop_commands
  dmlop_commands=(
@SUMMARIES@
  )
  local -a before=("${(@)words[2,CURRENT-1]}")
  local command=${before[(r)(@COMMANDS@)]}
  if [[ -z $command ]]; then
    _arguments@OPTIONS@ \
        '1:command:{_describe command dmlop_commands}'
    return
  fi
  while [[ $words[1] != $command ]]; do
    shift words
    ((CURRENT--))
  done
  case $command in
@ARGUMENTS@
  esac
}
if [[ $funcstack[1] == _dmlop ]]; then
  _dmlop "$@"
else
  compdef _dmlop dmlop
fi
