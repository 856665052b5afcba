import type { ImportedPrices } from "./import/imported.ts";
import { readInput } from "./named-file.ts";
import { CommandError, type Terminal } from "./terminal/terminal.ts";

export async function readPriceFile(file: string, terminal: Terminal): Promise<ImportedPrices> {
  const { readPrices, UnknownPriceFile } = await import("./import/prices.ts");
  const text = await readInput(file, terminal);
  try {
    return readPrices(text);
  } catch (error) {
    if (error instanceof UnknownPriceFile)
      throw new CommandError(`${file} cannot be imported: ${error.message}`);
    throw error;
  }
}
