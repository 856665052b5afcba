import type { ComponentChildren } from "preact";

export interface Column<Row> {
  readonly name: string;
  /** The class of its cells; its head is aligned with numbers. */
  readonly class?: string;
  /** A column whose name is only read aloud. */
  readonly unseen?: true;
  readonly cell: (row: Row) => ComponentChildren;
  /** A word below it; nothing where it is empty. */
  readonly note?: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row, place: number) => string | number;
  readonly class?: string;
  /** For rows that explain themselves. */
  readonly unseenHead?: boolean;
  /** In the place of a table without rows. */
  readonly empty?: ComponentChildren;
}

/** Rows that become cards on a narrow page, where each cell shows the name of its column. */
export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, keyOf, class: name = "rows", unseenHead, empty } = props;
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <table class={name}>
      {/* A head out of sight takes the widths of its columns with it. */}
      {unseenHead && (
        <colgroup>
          {columns.map((column) => (
            <col key={column.name} />
          ))}
        </colgroup>
      )}
      <thead class={unseenHead ? "unseen" : undefined}>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" class={column.class?.includes("number") ? "number" : undefined}>
              {column.unseen ? <span class="unseen">{column.name}</span> : column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, place) => (
          <tr key={keyOf(row, place)}>
            {columns.map(({ name: columnName, class: kind, unseen, cell, note }) => {
              const below = note?.(row);
              return (
                <td key={columnName} class={kind} data-name={unseen ? undefined : columnName}>
                  {cell(row)}
                  {below && <small class="muted">{below}</small>}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
