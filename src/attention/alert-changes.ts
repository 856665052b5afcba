import { printable } from "../base/printable.ts";
import type { AlertChanges, BegunAlert } from "../store/store.ts";
import { type Finding, idOf, kindOf } from "./finding.ts";

/**
 * What has begun, and what is over. A higher threshold begins anew, a lower one does not end anything: the end comes when
 * nothing is found any more. What a stopped gateway had found begins nothing either: it only keeps what has begun from ending.
 */
export function alertChanges(
  found: readonly Finding[],
  before: readonly BegunAlert[],
  nowMs: number,
): AlertChanges {
  const sent = new Map(
    found.filter((each) => kindOf(each).isOnlyShown !== true).map((each) => [idOf(each), each]),
  );
  const levels = new Map(before.map(({ id, level }) => [id, level]));
  const begun = [...sent].filter(
    ([id, { level, isStopped }]) => isStopped !== true && (level ?? 0) > (levels.get(id) ?? -1),
  );
  const over = before.filter(({ id }) => !sent.has(id));
  return {
    begun: begun.map(([id, finding]) => ({
      id,
      level: finding.level ?? 0,
      finding: JSON.stringify({ ...finding, lastWords: null }),
    })),
    ended: over.map(({ id }) => id),
    posts: [
      ...begun.map(([alertId, finding]) => ({
        alertId,
        body: alertBody(finding, "begin", nowMs),
        madeAtMs: nowMs,
      })),
      // It was written here when it began.
      ...over.map(({ id, finding }) => ({
        alertId: id,
        body: alertBody(JSON.parse(finding) as Finding, "end", nowMs),
        madeAtMs: nowMs,
      })),
    ],
  };
}

export function alertBody(finding: Finding, state: "begin" | "end", nowMs: number): string {
  const { kind, subject, details } = finding;
  const text = state === "begin" ? finding.text : kindOf(finding).over(finding, nowMs);
  return JSON.stringify({
    text: chatText(text),
    kind,
    state,
    subject,
    at: new Date(nowMs).toISOString(),
    details,
  });
}

/** Slack and its kin take `<!channel>` for a command; labels are written by people who may not send those. */
export function chatText(text: string): string {
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
