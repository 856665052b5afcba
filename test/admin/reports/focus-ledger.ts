import type { Bench } from "../../ledger/fixtures.ts";
import { settleItem } from "../../store/fixtures.ts";

/** A ledger with every kind of entry, as FOCUS exports it. */
export async function withEveryKind(bench: Bench) {
  const key = await bench.addKey({ label: "chat" }, 5_000_000_000);
  const who = { keyId: key.id, reference: null, note: null, atMs: bench.clock.wallMs() };
  await bench.operator.recordAdjustment({ ...who, amountNano: -7 });
  await bench.store.commit([
    settleItem(key.id, 1_800_001),
    settleItem(key.id, 5, { overrun: 7 }),
    settleItem(key.id, 9, { owed: 3 }),
  ]);
  return key;
}

/** The rows of a CSV by the names of its columns. */
export function focusRecords(text: string): readonly Readonly<Record<string, string>>[] {
  const [names = [], ...rows] = text.trimEnd().split("\n").map(cellsOf);
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ""])));
}

function cellsOf(line: string): readonly string[] {
  const cells = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...cells].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? "");
}
