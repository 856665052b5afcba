import { mapInTurns } from "../../base/loop/in-turns.ts";
import { anchorText } from "../../base/money/anchor.ts";
import { exactCredits, nanoFromExact } from "../../base/money/money.ts";
import { cursorOf, entryIdOf, feedDocument, isCursorOf } from "../../feed/entry-document.ts";
import { restoredOf } from "../../feed/restored.ts";
import type { FeedPush } from "../../store/store.ts";
import type { OperationContext } from "../context.ts";
import { AdminError } from "../formats/admin-error.ts";
import { iso, isoOrNull, momentOf } from "../moments.ts";
import type { FeedQuery, FeedView, PushView, VerifyQuery, VerifyView } from "./schema.ts";

export async function readFeed(
  context: OperationContext,
  { after, since, limit }: FeedQuery,
): Promise<FeedView> {
  const afterId = await beginning(context, { after, since });
  const entries = await context.store.feed.entries(afterId, limit);
  const data = await mapInTurns(entries, feedDocument);
  const { chain, feed } = context.store;
  const newest = await chain.newest(data.at(-1)?.id ?? afterId);
  return {
    data,
    next_cursor: data.at(-1)?.cursor ?? after ?? null,
    anchor: newest && anchorText(newest),
    ...(await restoredOf(feed, await feed.restores())),
  };
}

export async function verifyFeed(
  context: OperationContext,
  { through, count, total, after, since }: VerifyQuery,
): Promise<VerifyView> {
  const afterId = await beginning(context, { after, since });
  const throughId = await placeOf(context, through, "through");
  const ledger = await context.store.feed.totals({ afterId, throughId });
  const nano = nanoFromExact(total);
  if (nano === null)
    throw new AdminError(400, "invalid_request", "`total` must be a decimal number.", { param: "total" });
  return {
    ok: ledger.count === count && ledger.nano === nano,
    given: { count, total: exactCredits(nano) },
    ledger: { count: ledger.count, total: exactCredits(ledger.nano) },
  };
}

/** How far the feed has been pushed. */
export async function pushOf({ store }: OperationContext): Promise<PushView> {
  const push = await store.feed.push.state();
  const last = push && (await store.feed.entry(push.throughId));
  const lag = await store.feed.lagAfter(push?.throughId ?? 0);
  return {
    state: stateOf(push),
    through: last && cursorOf(last),
    accepted_at: isoOrNull(push?.acceptedAtMs ?? null),
    waiting: lag.entries,
    waiting_since: isoOrNull(lag.sinceMs),
    attempts: push?.attempts ?? 0,
    problem: push?.problem ?? null,
    next_attempt_at: push?.dueAtMs ? iso(push.dueAtMs) : null,
    stopped_at: isoOrNull(push?.stoppedAtMs ?? null),
  };
}

function stateOf(push: FeedPush | null): PushView["state"] {
  if (push === null) return "not_begun";
  if (push.stoppedAtMs !== null) return "stopped";
  return push.attempts > 0 ? "retrying" : "sending";
}

/** The id behind which the chosen entries begin. */
async function beginning(
  context: OperationContext,
  { after, since }: { readonly after: string | undefined; readonly since: string | undefined },
): Promise<number> {
  const sinceMs = momentOf(since, context.clock.wallMs());
  if (sinceMs === undefined) return after === undefined ? 0 : placeOf(context, after, "after");
  if (after !== undefined) throw new AdminError(400, "invalid_request", "Pass `after` or `since`, not both.");
  return context.store.feed.placeBefore(sinceMs);
}

/** The id of the cursor's entry. */
async function placeOf({ store }: OperationContext, cursor: string, param: string): Promise<number> {
  const id = entryIdOf(cursor);
  const entry = await store.feed.entry(id);
  if (entry !== null && isCursorOf(cursor, entry)) return id;
  const message = `\`${param}\` matches no entry of this ledger: it belongs to a different database, or a restore has undone its entry. Use the cursor of an earlier entry.`;
  throw new AdminError(400, "invalid_request", message, { param });
}
