import { printable } from "../base/text/printable.ts";
import type { AlertChanges, FiringAlert } from "../store/store.ts";
import { type Alert, idOf, isAboutProvider, kindOf } from "./alert.ts";

/**
 * Compares the active alerts with those that are firing, and returns which to fire, which to resolve, and what to post.
 *
 * - A higher threshold fires again. A lower one does nothing: the alert resolves when it is no longer active.
 * - An alert of a stopped gateway fires nothing, but keeps a firing alert from being resolved.
 * - A provider that now fails in another way has not recovered. Its new alert names the previous kind, and the previous
 *   alert ends without a post.
 */
export function alertChanges(
  active: readonly Alert[],
  recovered: readonly Alert[],
  firing: readonly FiringAlert[],
  nowMs: number,
): AlertChanges {
  const sendable = new Map(
    active.filter((alert) => kindOf(alert).isNeverSent !== true).map((alert) => [idOf(alert), alert]),
  );
  const levels = new Map(firing.map(({ id, level }) => [id, level]));
  const toFire = [...sendable].filter(
    ([id, { level, isStopped }]) => isStopped !== true && (level ?? 0) > (levels.get(id) ?? -1),
  );
  // The cast holds because the text was written below, when the alert fired.
  const toResolve = firing
    .filter(({ id }) => !sendable.has(id))
    .map(({ id, finding }) => ({ id, alert: JSON.parse(finding) as Alert }));
  const replaced = toResolve.filter(({ alert }) => toFire.some(([, other]) => isSameProvider(alert, other)));
  return {
    fired: toFire.map(([id, alert]) => ({
      id,
      level: alert.level ?? 0,
      finding: JSON.stringify({ ...alert, lastError: null }),
    })),
    resolved: toResolve.map(({ id }) => id),
    posts: [
      ...toFire.map(([alertId, alert]) => {
        const previous = replaced.find((each) => isSameProvider(each.alert, alert))?.alert;
        return {
          alertId,
          body: alertBody(withPreviousKind(alert, previous), "firing", nowMs),
          madeAtMs: nowMs,
        };
      }),
      ...toResolve
        .filter((each) => !replaced.includes(each))
        .map(({ id, alert }) => ({
          alertId: id,
          body: bodyOf(alert, "resolved", resolvedText(alert, active, recovered, nowMs), nowMs),
          madeAtMs: nowMs,
        })),
    ],
  };
}

function isSameProvider(one: Alert, other: Alert): boolean {
  return isAboutProvider(one) && isAboutProvider(other) && one.subject.id === other.subject.id;
}

function withPreviousKind(alert: Alert, previous: Alert | undefined): Alert {
  if (previous === undefined) return alert;
  return { ...alert, details: { ...alert.details, previous_kind: previous.kind } };
}

/** Reports a provider as recovered only if every deployment that failed has responded since. */
function resolvedText(
  alert: Alert,
  active: readonly Alert[],
  recovered: readonly Alert[],
  nowMs: number,
): string {
  if (!isAboutProvider(alert)) return kindOf(alert).resolvedText(alert, nowMs);
  const { label } = alert.subject;
  const other = active.find((each) => isSameProvider(each, alert));
  if (other !== undefined) return `Provider ${label} no longer fails in this way. ${other.text}`;
  const responding = recovered
    .filter((each) => isSameProvider(each, alert))
    .map(({ details }) => details["deployments"]);
  const failed = String(alert.details["deployments"]).split(", ");
  if (failed.every((name) => responding.includes(name))) return kindOf(alert).resolvedText(alert, nowMs);
  return `The state of provider ${label} is unknown: it was not called since a restart, a configuration change or a long pause.`;
}

export function alertBody(alert: Alert, state: "firing" | "resolved", nowMs: number): string {
  return bodyOf(
    alert,
    state,
    state === "firing" ? alert.text : kindOf(alert).resolvedText(alert, nowMs),
    nowMs,
  );
}

function bodyOf(alert: Alert, state: "firing" | "resolved", text: string, nowMs: number): string {
  const { kind, subject, details } = alert;
  const at = new Date(nowMs).toISOString();
  return JSON.stringify({ text: chatText(text), kind, state, subject, at, details });
}

/** Slack and similar services run `<!channel>` as a command, and labels can be written by people who must not send it. */
export function chatText(text: string): string {
  return printable(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
