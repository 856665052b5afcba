import { msPerDay } from "../base/clock.ts";
import { creditsFromNano } from "../base/money/money.ts";
import { count, plural } from "../base/text/plural.ts";
import type { AcknowledgedAlert, PartialList } from "../store/alert-records.ts";
import type { BatchRecord, NodeRecords, NodeState, Overrun, Store } from "../store/store.ts";
import { type Alert, alertKindNames, idOf, unsetAlertFields } from "./alert.ts";
import { limitAlerts } from "./limit-alerts.ts";
import { placesAlert, valueAlert } from "./value-alerts.ts";

const expiresSoonMs = 7 * msPerDay;

export interface KnownAlerts {
  readonly active: Alert[];
  /** Alerts of stopped gateways; not shown. */
  readonly ofStoppedGateways: Alert[];
  /** Deployments that have recently responded; not shown. */
  readonly recovered: Alert[];
}

interface AlertSources {
  readonly alerts: Store["alerts"];
  readonly nodes: Pick<NodeRecords, "states"> | null;
  readonly batches: Pick<Store["batches"], "open">;
}

/** All alerts known to the store: its own, and those published by gateways and audits. */
export async function readAlerts(
  { alerts, nodes, batches }: AlertSources,
  nowMs: number,
): Promise<KnownAlerts> {
  // The cast holds because `publish` wrote each text.
  const published = (await alerts.published(nowMs)).flatMap((text) => JSON.parse(text) as Alert[]);
  const bounds = await alerts.drawnBounds(nowMs);
  const values = await alerts.drawnValues(nowMs);
  const keys = await alerts.expiringKeys(nowMs, nowMs + expiresSoonMs);
  const overrun = await alerts.overrunSince(nowMs - msPerDay);
  const lostSignIns = await alerts.lostSignInsSince(nowMs - msPerDay);
  const acknowledged = new Map((await alerts.acknowledged(nowMs)).map((each) => [each.kind, each]));
  const active = inOrder([
    ...published.filter(({ isStopped, hasAnswered }) => isStopped !== true && hasAnswered !== true),
    ...bounds.listed.flatMap((bound) => limitAlerts(bound, nowMs)),
    ...values.listed.flatMap((value) => valueAlert(value, nowMs)),
    ...values.places.flatMap(placesAlert),
    ...overrunAlerts(overrun),
    ...signInAlerts(lostSignIns),
    ...reuseAlerts(await alerts.reusedSignInsSince(nowMs - msPerDay)),
    ...keys.listed.map(({ id, prefix, label, expiresAtMs }): Alert => {
      const name = label ?? prefix;
      const expires_at = new Date(expiresAtMs).toISOString();
      return {
        ...unsetAlertFields,
        kind: "key_expiring",
        subject: { type: "key", id, label: name },
        text: `Key ${name} expires at ${toTheSecond(expiresAtMs)}.`,
        details: { expires_at },
      };
    }),
    ...waitingBatches(await batches.open(), nowMs),
    ...notListed("limits", "balances, budgets and caps are nearly used up", bounds),
    ...notListed("values of caps", "values of caps are nearly used up", values),
    ...notListed("expiring keys", "keys expire within 7 days", keys),
    ...lateNodes(nodes === null ? [] : await nodes.states()),
  ]);
  return {
    active: active.map((alert) => withAcknowledgement(alert, acknowledged.get(alert.kind))),
    ofStoppedGateways: published.filter(
      ({ isStopped, hasAnswered }) => isStopped === true && hasAnswered !== true,
    ),
    recovered: published.filter(({ hasAnswered }) => hasAnswered === true),
  };
}

function withAcknowledgement(alert: Alert, found: AcknowledgedAlert | undefined): Alert {
  return found === undefined
    ? alert
    : { ...alert, acknowledged: { actor: found.actor, untilMs: found.untilMs } };
}

function notListed(label: string, what: string, { listed, more }: PartialList<unknown>): Alert[] {
  if (more === 0) return [];
  const subject = { type: "store", id: label, label } as const;
  const text = `${count(more)} more ${what}; at most ${count(listed.length)} are listed.`;
  return [{ ...unsetAlertFields, kind: "not_listed", subject, text, details: { more } }];
}

/** Sorts alerts by the order of their kinds, and keeps the earliest of those that several gateways report. */
export function inOrder(alerts: readonly Alert[]): Alert[] {
  const byId = new Map<string, Alert>();
  for (const alert of alerts) {
    const known = byId.get(idOf(alert));
    const isEarlier = (alert.sinceMs ?? Number.POSITIVE_INFINITY) < (known?.sinceMs ?? 0);
    if (known === undefined || isEarlier) byId.set(idOf(alert), alert);
  }
  return [...byId.values()].sort(
    (one, other) => alertKindNames.indexOf(one.kind) - alertKindNames.indexOf(other.kind),
  );
}

/** One alert for all overruns; the report that it names shows whose calls they were. */
function overrunAlerts({ nano, tokens }: Overrun): Alert[] {
  if (nano === 0 && tokens === 0) return [];
  const credits = creditsFromNano(nano);
  const amounts = [nano > 0 ? `${credits} credits` : "", tokens > 0 ? `${tokens} tokens` : ""].filter(
    Boolean,
  );
  const text = `Requests in the last 24 hours cost ${amounts.join(" and ")} more than holds, balances and caps covered. That was not charged.`;
  const subject = { type: "ledger", id: "ledger", label: "ledger" } as const;
  return [{ ...unsetAlertFields, kind: "overrun", subject, text, details: { credits, tokens } }];
}

/** One alert for all keys: a mistake in the configuration loses the sign-in of many people at once. */
function signInAlerts(keys: number): Alert[] {
  if (keys === 0) return [];
  const suspended = plural(keys, "key was", "keys were");
  const text = `${suspended} suspended in the last 24 hours, because their owners can no longer sign in. If that is a mistake, correct \`[admin]\` in the configuration and reload it.`;
  const subject = { type: "configuration", id: "sign-in", label: "sign-in" } as const;
  return [{ ...unsetAlertFields, kind: "sign_in_lost", subject, text, details: { keys } }];
}

function reuseAlerts(signIns: number): Alert[] {
  if (signIns === 0) return [];
  const ended = plural(signIns, "sign-in has", "sign-ins have");
  const text = `${ended} ended in the last 24 hours, because a refresh token was used again. It may have been copied from a person's machine.`;
  const subject = { type: "configuration", id: "sign-in-reuse", label: "sign-in" } as const;
  return [{ ...unsetAlertFields, kind: "sign_in_reused", subject, text, details: { sign_ins: signIns } }];
}

/** A batch that waits for a moment, or for its own lines, needs nothing. */
const waitedMs = 60_000;

function waitingBatches(open: readonly BatchRecord[], nowMs: number): Alert[] {
  const waiting = open.filter(
    ({ isPaused, waitsFor, waitsSinceMs }) =>
      isPaused || (waitsFor !== "provider" && waitsSinceMs !== null && nowMs - waitsSinceMs >= waitedMs),
  );
  return waiting.map(({ id, keyId, keyPrefix, keyLabel, isPaused, waitsFor, waitsSinceMs }) => {
    const reason = isPaused ? "restored" : (waitsFor ?? "balance");
    const text = isPaused
      ? `Batch ${id} is paused, because its database is a copy. Resume or cancel it.`
      : `Batch ${id} cannot go on. It waits for: ${reason}.`;
    const subject = { type: "key", id: keyId, label: keyLabel ?? keyPrefix } as const;
    return {
      ...unsetAlertFields,
      kind: "batch_waiting",
      subject,
      part: id,
      sinceMs: waitsSinceMs,
      text,
      details: { batch: id, reason },
    };
  });
}

/** A killed node counts as missing until a node of the same name starts, or for a day. */
function lateNodes(nodes: readonly NodeState[]): Alert[] {
  const isReplaced = ({ name, lastBeatMs }: NodeState) =>
    nodes.some((other) => other.state === "live" && other.name === name && other.startedAtMs > lastBeatMs);
  const missed = nodes.filter((node) => node.state !== "live" && !isReplaced(node));
  return missed.map(({ no, name, state, lastBeatMs }) => ({
    ...unsetAlertFields,
    kind: "node_missing",
    subject: { type: "node", id: String(no), label: name },
    sinceMs: lastBeatMs,
    text: `Gateway ${name} has missed its heartbeat since ${toTheSecond(lastBeatMs)}.`,
    details: { node: no, state },
  }));
}

function toTheSecond(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+/, "");
}
