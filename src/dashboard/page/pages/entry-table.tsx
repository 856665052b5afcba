import type { EntryView } from "../../../admin/views.ts";
import { count, credits, moment } from "../format.ts";
import { hrefOf } from "../router.ts";

export function EntryTable({ entries }: { entries: readonly EntryView[] }) {
  if (entries.length === 0) return <p class="muted pad">No entries yet.</p>;
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Entry</th>
          <th scope="col">Why</th>
          <th scope="col" class="number">
            Amount
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td data-name="Time">{moment(entry.at)}</td>
            <td data-name="Entry">{entry.kind}</td>
            <td data-name="Why" class="muted">
              {entry.exchange_id ? (
                <a href={hrefOf(`exchanges?open=${entry.exchange_id}&entry=${entry.id}`)}>
                  <code>{entry.exchange_id}</code>
                </a>
              ) : (
                (entry.note ?? entry.reference ?? "–")
              )}
            </td>
            <td data-name="Amount" class="number">
              {entry.unit === "credits" ? credits(entry.amount) : count(entry.amount)}
              <small class="muted">{entry.unit}</small>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
