import type { CursorPage } from "../reports.ts";

/** The fields of a row that merging needs. */
interface MergedRow {
  /** Its id in its own list. */
  readonly rowId: number;
  readonly endedAtMs: number;
}

type Page<Row> = CursorPage<Row, number>;

/** Two lists, each newest first and with its own cursor. */
export interface CompletedAndOther<Row> {
  /** The next page before this id; null if the query excludes this list. */
  completed(beforeId: number | undefined): Promise<Page<Row>> | null;
  ended(beforeId: number | undefined): Promise<Page<Row>> | null;
  /** The end time of the row with this id, or of the next existing row. */
  completedTimeAt(id: number): Promise<number>;
  endedTimeAt(id: number): Promise<number>;
}

const nothing: Page<never> = { rows: [], next: null };

/** A page of both lists merged by end time, with one cursor for both: `12.34`. */
export async function mergePages<Row extends MergedRow>(
  cursor: string | undefined,
  limit: number,
  lists: CompletedAndOther<Row>,
): Promise<CursorPage<Row, string>> {
  const [completedBefore, endedBefore] = readCursor(cursor);
  const [completed, ended] = await Promise.all([
    lists.completed(completedBefore) ?? nothing,
    lists.ended(endedBefore) ?? nothing,
  ]);
  // A list that was not searched to its end may still have older rows, so nothing older may be shown yet.
  const horizonMs = Math.max(
    await horizonOf(completed, limit, lists.completedTimeAt),
    await horizonOf(ended, limit, lists.endedTimeAt),
  );
  const rows: Row[] = [];
  let [takenCompleted, takenEnded] = [0, 0];
  while (rows.length < limit) {
    const one = completed.rows[takenCompleted];
    const other = ended.rows[takenEnded];
    const isCompleted = one !== undefined && (other === undefined || one.endedAtMs >= other.endedAtMs);
    const next = isCompleted ? one : other;
    if (next === undefined || next.endedAtMs < horizonMs) break;
    rows.push(next);
    if (isCompleted) takenCompleted += 1;
    else takenEnded += 1;
  }
  const nextCompleted = nextBefore(completed, takenCompleted, completedBefore);
  const nextEnded = nextBefore(ended, takenEnded, endedBefore);
  const isOver = nextCompleted === exhausted && nextEnded === exhausted;
  return { rows, next: isOver ? null : `${nextCompleted}.${nextEnded}` };
}

/** The lowest id. */
const exhausted = 1;

function readCursor(cursor: string | undefined): [number | undefined, number | undefined] {
  if (cursor === undefined) return [undefined, undefined];
  const [completed, ended] = cursor.split(".").map(Number);
  return [completed, ended];
}

async function horizonOf(
  { rows, next }: Page<MergedRow>,
  limit: number,
  timeAt: (id: number) => Promise<number>,
): Promise<number> {
  if (next === null || rows.length >= limit) return Number.NEGATIVE_INFINITY;
  const atMs = await timeAt(next);
  return Number.isFinite(atMs) ? atMs : Number.NEGATIVE_INFINITY;
}

function nextBefore({ rows, next }: Page<MergedRow>, taken: number, before: number | undefined): number {
  if (taken === rows.length) return next ?? exhausted;
  const last = rows[taken - 1];
  if (last !== undefined) return last.rowId;
  return before ?? (rows[0]?.rowId ?? 0) + 1;
}
