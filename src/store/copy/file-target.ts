import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "../../base/system/system-code.ts";
import { StoreError } from "../store.ts";
import type { CopiedRow, CopiedTable, CopyTarget, StoreProgress } from "./copy.ts";
import { withFileSource } from "./file-source.ts";
import { encodeRow, formatVersion, type ObjectLine } from "./ledger-file.ts";

/** Creates the file, for its owner alone, and verifies it by reading it back. Removes it again if the export fails. */
export async function withFileTarget<Result>(
  file: string,
  work: (target: CopyTarget) => Promise<Result>,
): Promise<Result> {
  const descriptor = create(file);
  let isDone = false;
  try {
    const result = await work(new FileTarget(file, descriptor));
    syncFolder(dirname(file));
    await withFileSource(file, async () => {});
    isDone = true;
    return result;
  } finally {
    closeSync(descriptor);
    if (!isDone) rmSync(file, { force: true });
  }
}

function create(file: string): number {
  try {
    return openSync(file, "wx", 0o600);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    throw new StoreError("file_exists", `${file} already exists. Nothing was exported. Use another name.`);
  }
}

/** Makes the file's name durable, too. */
function syncFolder(dir: string): void {
  const descriptor = openSync(dir, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

class FileTarget implements CopyTarget {
  readonly name: string;
  readonly #descriptor: number;
  readonly #hash = new Bun.CryptoHasher("sha256");
  #lines = 0;
  #table = "";

  constructor(name: string, descriptor: number) {
    this.name = name;
    this.#descriptor = descriptor;
    this.#addObject({ sluice: "ledger", version: formatVersion });
  }

  columnsOf(): null {
    return null;
  }

  totals(): null {
    return null;
  }

  async write({ name, columns }: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    if (name !== this.#table) this.#addObject({ table: name, columns });
    this.#table = name;
    this.#add(rows.map((row) => encodeRow(row, columns)));
  }

  async finish(progress: StoreProgress): Promise<void> {
    this.#addObject({ progress });
    this.#addObject({ end: { lines: this.#lines, sha256: this.#hash.copy().digest("hex") } });
    fsyncSync(this.#descriptor);
  }

  #addObject(line: ObjectLine): void {
    this.#add([JSON.stringify(line)]);
  }

  #add(lines: readonly string[]): void {
    const text = `${lines.join("\n")}\n`;
    this.#hash.update(text);
    this.#lines += lines.length;
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; )
      written += writeSync(this.#descriptor, bytes, written, bytes.length - written);
  }
}
