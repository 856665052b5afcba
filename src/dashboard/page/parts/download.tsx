import type { Page } from "../../../admin/formats/shapes.ts";
import { csvLine } from "../../../base/text/csv.ts";
import { api, type Query, retryWhenLimited } from "../api.ts";
import { Button } from "./button.tsx";
import { notify } from "./notices.tsx";
import { useAction } from "./submit.ts";

const maxPages = 100;
const defaultPerPage = 500;

/** All pages of a list, up to what a browser should hold. Waits when the report limit is reached. */
export async function everyPage<Row>(
  path: string,
  query: Query,
  limit = defaultPerPage,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page += 1) {
    const pageQuery: Query = { ...query, cursor, limit };
    const answer: Page<Row> = await retryWhenLimited(() => api.get<Page<Row>>(path, pageQuery));
    rows.push(...answer.data);
    cursor = answer.next_cursor;
    if (cursor === null) return rows;
  }
  notify(`Only the first ${rows.length} rows are in the file.`, "bad");
  return rows;
}

/** The rows as CSV, with the API's field names as columns. */
function csvOf(rows: readonly object[]): string {
  const [first = {}] = rows;
  return [Object.keys(first), ...rows.map(Object.values)].map((row) => `${csvLine(row)}\r\n`).join("");
}

export function Download({ name, rows }: { name: string; rows: () => Promise<readonly object[]> }) {
  const [busy, save] = useAction(async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(await rows())], { type: "text/csv" }));
    link.download = `${name}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  return (
    <Button icon="download" busy={busy} onClick={save}>
      Download CSV
    </Button>
  );
}
