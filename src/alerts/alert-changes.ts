import { printable } from "../base/text/printable.ts";
import type { AlertChanges, BegunAlert } from "../store/store.ts";
import { type Alert, idOf, isAboutProvider, kindOf } from "./alert.ts";

/**
 * What has begun, and what is over. A higher threshold fires again, a lower one does not resolve anything: the end comes when
 * nothing is found any more. What a stopped gateway had found begins nothing either: it only keeps what has begun from ending.
 * A provider that fails in another way than before has not answered: that is one new begin, which names the former kind.
 */
export function alertChanges(
  found: readonly Alert[],
  answered: readonly Alert[],
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
  // It was written here when it began.
  const over = before
    .filter(({ id }) => !sent.has(id))
    .map(({ id, finding }) => ({ id, finding: JSON.parse(finding) as Alert }));
  const changed = over.filter(({ finding }) => begun.some(([, other]) => isSameProvider(finding, other)));
  return {
    begun: begun.map(([id, finding]) => ({
      id,
      level: finding.level ?? 0,
      finding: JSON.stringify({ ...finding, lastError: null }),
    })),
    ended: over.map(({ id }) => id),
    posts: [
      ...begun.map(([alertId, finding]) => {
        const former = changed.find((each) => isSameProvider(each.finding, finding));
        return {
          alertId,
          body: alertBody(following(finding, former?.finding), "firing", nowMs),
          madeAtMs: nowMs,
        };
      }),
      ...over
        .filter((each) => !changed.includes(each))
        .map(({ id, finding }) => ({
          alertId: id,
          body: bodyOf(finding, "resolved", endText(finding, found, answered, nowMs), nowMs),
          madeAtMs: nowMs,
        })),
    ],
  };
}

function isSameProvider(one: Alert, other: Alert): boolean {
  return isAboutProvider(one) && isAboutProvider(other) && one.subject.id === other.subject.id;
}

function following(finding: Alert, former: Alert | undefined): Alert {
  if (former === undefined) return finding;
  return { ...finding, details: { ...finding.details, previous_kind: former.kind } };
}

/** That a provider answers again is said only where each of the deployments has answered. */
function endText(finding: Alert, found: readonly Alert[], answered: readonly Alert[], nowMs: number): string {
  if (!isAboutProvider(finding)) return kindOf(finding).over(finding, nowMs);
  const { label } = finding.subject;
  const other = found.find((each) => isSameProvider(each, finding));
  if (other !== undefined) return `Provider ${label} no longer fails in this way. ${other.text}`;
  const names = answered
    .filter((each) => isSameProvider(each, finding))
    .map(({ details }) => details["deployments"]);
  const failed = String(finding.details["deployments"]).split(", ");
  if (failed.every((name) => names.includes(name))) return kindOf(finding).over(finding, nowMs);
  return `The state of provider ${label} is unknown: it was not called since a restart, a configuration change or a long pause.`;
}

export function alertBody(finding: Alert, state: "firing" | "resolved", nowMs: number): string {
  return bodyOf(
    finding,
    state,
    state === "firing" ? finding.text : kindOf(finding).over(finding, nowMs),
    nowMs,
  );
}

function bodyOf(finding: Alert, state: "firing" | "resolved", text: string, nowMs: number): string {
  const { kind, subject, details } = finding;
  const at = new Date(nowMs).toISOString();
  return JSON.stringify({ text: chatText(text), kind, state, subject, at, details });
}

/** Slack and its kin take `<!channel>` for a command; labels are written by people who may not send those. */
export function chatText(text: string): string {
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
