# SPDX-License-Identifier: Apache-2.0
"""The schema accepts what `dmlop validate` accepts and refuses what it refuses, except for faults that a schema
cannot express."""

import json
import os
import random
import sys

import numpy as np

sys.dont_write_bytecode = True
import random_documents
from program import ProgramTest
from schema_verdicts import load_schema, must_refuse, read_verdicts, validator_of
import unittest

SEED = int(os.environ.get("DMLOP_SEED", random.SystemRandom().randrange(2 ** 32)))
MAKERS = [random_documents.descriptor, random_documents.descriptor_of_file, random_documents.model]
VALID = 60   # documents of each kind
CHANGES = 6  # for each document


class SchemaAgreementTest(ProgramTest):
    def setUp(self):
        super().setUp()
        print(f"DMLOP_SEED={SEED}", flush=True)
        self.rng = random.Random(SEED)
        self.save(x=np.arange(6, dtype="f4").reshape(2, 3))
        np.save(self.folder / "y.npy", np.ones(2, "f4"))
        (self.folder / "y.npy").rename(self.folder / "Y.NPY")
        self.write("buffer.bin", b"\0" * 8)
        self.validator = validator_of(load_schema())

    def verdicts_of(self, documents):
        names = [f"{i}.json" for i in range(len(documents))]
        for name, document in zip(names, documents):
            self.write(name, document)
        return read_verdicts(names, self.folder)

    def schema_errors(self, document):
        return [f"{error.json_path}: {error.message[:200]}"
                for error in self.validator.iter_errors(document)]

    def test_valid_documents(self):
        documents = [make(self.rng) for make in MAKERS for _ in range(VALID)]
        for document, verdict in zip(documents, self.verdicts_of(documents)):
            with self.subTest(json.dumps(document)):
                self.assertTrue(verdict["valid"], verdict)
                self.assertEqual(self.schema_errors(document), [])

    def test_changed_documents(self):
        originals = [make(self.rng) for make in MAKERS for _ in range(VALID)]
        changes = [random_documents.changed(self.rng, document)
                   for document in originals for _ in range(CHANGES)]
        verdicts = self.verdicts_of([document for document, _ in changes])
        refused = 0
        for (document, what), verdict in zip(changes, verdicts):
            with self.subTest(what, document=json.dumps(document)):
                if verdict["valid"]:
                    self.assertEqual(self.schema_errors(document), [])
                elif must_refuse(document, verdict):
                    self.assertFalse(self.validator.is_valid(document), verdict)
                    refused += 1
        self.assertGreater(refused, len(changes) // 4)


if __name__ == "__main__":
    unittest.main()
