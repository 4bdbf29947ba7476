# SPDX-License-Identifier: Apache-2.0
"""bash, zsh and fish offer the same completions, and those that --help lists."""

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import unittest

from program import DMLOP, GROUPS, ROOT, ProgramTest, read_screen

COMMANDS = sorted(page.stem.removeprefix("dmlop-") for page in (ROOT / "man").glob("dmlop-*.1"))
COMMON = {"-h", "--help", "-q", "--quiet", "-v", "--verbose", "--color"}

# Writes what the completion system receives for each line of the file "lines".
ZSH = r"""
PS1= RPS1=
autoload -Uz compinit && compinit -u -D
source ./script
compadd() {
  local -a found
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -A found "$@"
    offered+=("${found[@]}")
  fi
  builtin compadd "$@"
}
offer() {
  _main_complete
  compstate[insert]= compstate[list]=
}
offer-all() {
  local line
  for line in "${(@f)$(<lines)}"; do
    offered=()
    BUFFER=$line
    CURSOR=$#BUFFER
    zle offer
    print -rl -- "${offered[@]}" --- >>offered
  done
  BUFFER=exit
  zle accept-line
}
zle -C offer complete-word offer
zle -N zle-line-init offer-all
"""

FISH = """
source ./script
while read line
    complete -C $line | string replace -r '\\t.*' ''
    echo ---
end <lines
"""


def pieces(line):
    """The words of a line as bash splits them: '=' and ':' outside of quotes are words of their own."""
    words = re.findall(r"""(?:[^\s'"\\=:]|\\.|'[^']*'?|"[^"]*"?)+|[=:]""", line)
    return words + [""] if line.endswith(" ") else words


class CompletionTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("dmlop", f'#!/bin/sh\nexec {DMLOP} "$@"\n')
        (self.folder / "dmlop").chmod(0o755)
        self.environment = os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}", "HOME": str(self.folder),
                                         "ZDOTDIR": str(self.folder / "rc"), "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        (self.folder / "rc").mkdir()
        self.write("rc/.zshrc", ZSH)
        (self.folder / "work").mkdir()
        self.work = self.folder / "work"

    def start_shell(self, *command, **options):
        done = subprocess.run(command, cwd=self.work, env=self.environment, capture_output=True, text=True, timeout=60, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command[0])
        return done.stdout

    def by_bash(self, lines):
        calls = [f"COMP_WORDS=({shlex.join(pieces(line))}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _dmlop; "
                 "printf '%s\\n' \"${COMPREPLY[@]}\" ---" for line in lines]
        return self.start_shell("bash", "--norc", "-c", "\n".join(["source ./script", *calls]))

    def by_fish(self, lines):
        return self.start_shell("fish", "--no-config", "-c", FISH)

    def by_zsh(self, lines):
        (self.work / "offered").unlink(missing_ok=True)
        screen, terminal = pty.openpty()
        process = subprocess.Popen(["zsh", "-i"], cwd=self.work, env=self.environment, start_new_session=True,
                                   stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        shown = read_screen(screen)
        self.assertEqual(process.wait(60), 0, shown)
        offered = (self.work / "offered").read_text()
        (self.work / "offered").unlink()
        return offered

    def offered(self, lines):
        """For each shell, the completions of the last word of each line: what would follow its last '='."""
        answers = {}
        for shell, ask in (("bash", self.by_bash), ("zsh", self.by_zsh), ("fish", self.by_fish)):
            if shutil.which(shell) is None:
                print(f"{shell} is not installed: nothing was completed by it", file=sys.stderr)
                continue
            (self.work / "script").write_text(self.text_of("completion", shell))
            (self.work / "lines").write_text("\n".join(lines) + "\n")
            blocks = ask(lines).split("---\n")[:-1]
            for name in ("script", "lines"):
                (self.work / name).unlink()
            self.assertEqual(len(blocks), len(lines), shell)
            answers[shell] = [{re.sub(".*=(?=.)", "", self.unquoted(word, shell)).rstrip("=/@")
                               for word in block.splitlines() if word} for block in blocks]
        return answers

    @staticmethod
    def unquoted(word, shell):
        """zsh's words are quoted as they would be typed."""
        return re.sub(r"\\(.)", r"\1", word) if shell == "zsh" else word

    def check(self, table, hidden=frozenset({"script", "lines", "offered"})):
        for shell, answers in self.offered([line for line, _ in table]).items():
            for (line, expected), found in zip(table, answers, strict=True):
                with self.subTest(shell=shell, line=line):
                    if not line.split(" ")[-1].startswith("-"):  # zsh offers options where nothing else is possible
                        found = {word for word in found if not word.startswith("-")}
                    self.assertEqual(found - hidden, set(expected))

    def test_the_options_of_help(self):
        table = [("dmlop -", COMMON | {"--version"})]
        for command in COMMANDS:
            text = self.text_of(command, "--help")
            listed = text[text.index("\nOptions:"):text.index("\nExamples:")]
            names = {name for line in listed.splitlines() if line.startswith("  -") for name in line.split()[0].split(",")}
            table.append((f"dmlop {command} -", names))
        self.check(table)

    def test_words_and_files(self):
        files = {"d.json", "m.jsonl", "x.npy", "x.npz", "x.bin", "x.png", "notes.txt", "times.json"}
        for name in files:
            (self.work / name).touch()
        (self.work / "in").mkdir()
        reduce = {"type": "REDUCE", "Function": "SUM", "Axes": [0]}
        (self.work / "d.json").write_text(json.dumps(reduce))
        (self.work / "join.data").write_text(json.dumps({"type": "JOIN", "Axis": 0, "InputTensors": [
            {"DataType": "FLOAT32", "Sizes": [1, 2]}, {"DataType": "FLOAT32", "Sizes": [3, 2]}]}))
        all_files = files | {"join.data", "in"}
        documents = {"d.json", "times.json", "m.jsonl", "in"}
        tensors = {"x.npy", "x.npz", "x.bin", "x.png", "in"}
        operators = {line.split()[0] for line in self.text_of("ops").splitlines()} | {"SCATTER_ELEMENTS"}  # including an older name
        levels = [f"6_{i}" for i in range(5)]
        isas = self.text_of("--version").split("instruction sets: ")[1].strip().split(", ")
        types = {"FLOAT16", "FLOAT32", "FLOAT64"}
        sides = {"InputTensor", "OutputTensor"}
        self.check([
            ("dmlop ", COMMANDS), ("dmlop -q ru", ["run"]), ("dmlop --color always sho", ["show"]), ("dmlop --color al", ["always"]),
            ("dmlop --color=al", ["always"]), ("dmlop -q run --kee", ["--keep", "--keep-all"]),
            ("dmlop validate --format ", ["text", "json"]), ("dmlop bench --format=m", ["markdown"]), ("dmlop bench --cache c", ["cold"]),
            ("dmlop run --tolerance ", ["webnn", "sums", "noise"]), ("dmlop run --as sums-", ["sums-float32", "sums-float16", "sums-bfloat16"]), ("dmlop completion ", ["bash", "zsh", "fish"]), ("dmlop completion bash ", []),
            ("dmlop ops RED", ["REDUCE"]), ("dmlop ops ", operators), ("dmlop ops --manual ", sorted([*GROUPS, "onnx"])), ("dmlop ops --like MatM", ["MatMul", "MatMulInteger", "MatMulIntegerToFloat"]),
            ("dmlop ops --like=conv2", ["conv2d"]), ("dmlop run -L 6_", levels), ("dmlop run --feature-level=6_", levels),
            ("dmlop run --isa ", isas), ("dmlop show --type FLOAT", types), ("dmlop compare --type FLOAT", types), ("dmlop compare --ulp FLOAT", types), ("dmlop compare --ulp FLOAT16=2", []),
            ("dmlop run ", documents), ("dmlop batch ", documents), ("dmlop validate d.json ", documents), ("dmlop run no", ["notes.txt"]),
            ("dmlop run d.json -i ", tensors), ("dmlop run d.json --input=", tensors), ("dmlop run d.json -i InputTensor=", tensors),
            ("dmlop run d.json --input InputTensor=x.n", ["x.npy", "x.npz"]), ("dmlop run d.json --input=InputTensor=x.b", ["x.bin"]),
            ("dmlop run d.json --output=", tensors), ("dmlop run d.json --judge Out=x.", tensors - {"in"}), ("dmlop run d.json --keep edge=x.b", ["x.bin"]),
            ("dmlop run d.json ", []), ("dmlop compare ", tensors), ("dmlop compare x.npy x.b", ["x.bin"]), ("dmlop compare x.npy x.bin ", tensors),  # slices may stand between
            ("dmlop compare -o ", ["x.png", "in"]), ("dmlop show x.npy ", []), ("dmlop show --output=", ["x.png", "in"]),
            ("dmlop bench --baseline ", ["d.json", "times.json", "in"]), ("dmlop run --report ", all_files), ("dmlop run --report=no", ["notes.txt"]),
            ("dmlop run --output-path ", ["in"]), ("dmlop run --output-path=", ["in"]), ("dmlop run -t ", []), ("dmlop run --shar", []),
            ("dmlop explain ", documents), ("dmlop explain d.json ", sides), ("dmlop explain d.json Out", ["OutputTensor"]),
            ("dmlop explain -i x.npy d.json -q Out", ["OutputTensor"]), ("dmlop explain join.data In", ["InputTensors/0", "InputTensors/1"]),
            ("dmlop explain '" + json.dumps(reduce) + "' ", sides), ("dmlop explain notes.txt ", []),
            ("dmlop compare --type act", ["actual"]), ("dmlop compare --type expected=FLOAT", types), ("dmlop compare --type=actual=FLOAT", types),
            ("dmlop compare --strides ", ["actual", "expected"]), ("dmlop compare --sizes actual=", []),
        ])

    def test_names_of_documents(self):
        """Those of a model's operators, of the tensors that they fill, and of the case that --line takes."""
        one = {"DataType": "FLOAT32", "Sizes": [1]}
        identity = {"type": "ELEMENT_WISE_IDENTITY", "InputTensor": one, "OutputTensor": one}
        buffers = {name: {"initialValuesDataType": "FLOAT32", "initialValues": [1]} for name in "xyz"}
        dispatches = [{"type": "dispatch", "dispatchable": name, "bindings": {"InputTensor": source, "OutputTensor": to}}
                      for name, source, to in (("first", "x", "y"), ("second", "y", "z"))]
        model = {"resources": buffers, "dispatchables": {"first": identity, "second": identity}, "commands": dispatches}
        (self.work / "model.json").write_text(json.dumps(model))
        (self.work / "x.bin").touch()
        bound = {"InputTensor": [1], "OutputTensor": "y.npy"}
        join = {"type": "JOIN", "Axis": 0, "InputTensors": [one, one], "bindings": {"InputTensors": [[1], [2]], "OutputTensor": "y.npy"}}
        (self.work / "m.jsonl").write_text(f'{json.dumps(identity | {"bindings": bound})}\n{json.dumps(join)}\n')
        filled = ["first.OutputTensor", "second.OutputTensor"]
        joined = ["InputTensors/0", "InputTensors/1"]
        self.check([
            ("dmlop explain model.json --dispatchable ", ["first", "second"]), ("dmlop explain model.json --dispatchable=se", ["second"]),
            ("dmlop explain m.jsonl --dispatchable ", []), ("dmlop run model.json --keep ", filled), ("dmlop run model.json --keep se", filled[1:]),
            ("dmlop run model.json --keep first.OutputTensor=x.b", ["x.bin"]), ("dmlop run model.json --keep=fi", filled[:1]),
            ("dmlop explain --line 2 m.jsonl In", joined), ("dmlop explain m.jsonl --line=2 In", joined),
            ("dmlop explain m.jsonl --line 1 In", ["InputTensor"]),
        ])

    def test_fish_writes_no_space_behind_what_goes_on(self):
        """It writes one behind the only choice, unless that ends in one of these."""
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")
        (self.work / "d.json").write_text('{"type": "REDUCE", "Function": "SUM", "Axes": [0]}')
        (self.work / "script").write_text(self.text_of("completion", "fish"))
        for line in ("dmlop explain d.json Out", "dmlop compare --ulp FLOAT1", "dmlop compare --type act"):
            (self.work / "lines").write_text(line + "\n")
            offered = self.by_fish([line]).split("\n")[:-2]
            self.assertTrue(len(offered) > 1 or offered[0].endswith("="), offered)

    def test_names_with_blanks(self):
        (self.work / "my dir").mkdir()
        for name in ("hello world.npy", "my dir/in.npy"):
            (self.work / name).touch()
        (self.work / "model $(touch bad).json").write_text('{"type": "REDUCE", "Function": "SUM", "Axes": [0]}')
        self.check([("dmlop show hel", ["hello world.npy"]), ("dmlop show hello\\ w", ["hello world.npy"]),
                    ('dmlop show "hello w', ["hello world.npy"]), ("dmlop run d -i a=hello\\ w", ["hello world.npy"]),
                    ("dmlop show my", ["my dir"]), ("dmlop explain 'model $(touch bad).json' O", ["OutputTensor"])])
        self.assertFalse((self.work / "bad").exists())

    def test_tensors_of_models_are_words_whatever_their_names(self):
        model = {"resources": {name: {"initialValuesDataType": "FLOAT32", "initialValues": [1]} for name in ("a b", "$(touch bad)", "c;d")},
                 "dispatchables": {"add": {"type": "DML_OPERATOR_ELEMENT_WISE_IDENTITY", "desc": {
                     name: {"DataType": "FLOAT32", "Sizes": [1]} for name in ("InputTensor", "OutputTensor")}}}, "commands": [
                     {"type": "dispatch", "dispatchable": "add", "bindings": {"InputTensor": "a b", "OutputTensor": "c;d"}}]}
        (self.work / "model.json").write_text(json.dumps(model))
        for shell, (found,) in self.offered(["dmlop explain model.json "]).items():
            plain = {shlex.split(word)[0] if shell == "bash" else word for word in found}
            self.assertLessEqual({"a b", "$(touch bad)", "c;d", "InputTensor", "OutputTensor"}, plain, shell)
        self.assertFalse((self.work / "bad").exists())

    def test_bash_at_a_terminal(self):
        """bash itself splits words at '=' and replaces the parts by the completions."""
        for name in ("x y.npy", "d.json"):
            (self.work / name).touch()
        self.write("rc/bashrc", "PS1=\nsource ./script\n")
        (self.work / "script").write_text(self.text_of("completion", "bash"))
        typed = [("run d.json --input=Input=x\t", "--input=Input=x y.npy"), ("run d.json -i Input=x\t", "Input=x y.npy"),
                 ("run --color=al\t", "--color=always"), ("compare --ulp FLOAT1\t2", "FLOAT16=2"), ("explain --tens\td\t", "d.json")]
        self.write("dmlop", '#!/bin/sh\nfor last; do :; done\necho "[$last]"\n')
        screen, terminal = pty.openpty()
        process = subprocess.Popen(["bash", "--noprofile", "--rcfile", self.folder / "rc/bashrc", "-i"], cwd=self.work,
                                   env=self.environment, start_new_session=True, stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        os.write(screen, "".join(f"dmlop {line}\n" for line, _ in typed).encode() + b"exit\n")
        shown = read_screen(screen).decode()
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(re.findall(r"(?m)^\[(.*)\]\r?$", shown), [last for _, last in typed])


if __name__ == "__main__":
    unittest.main()
