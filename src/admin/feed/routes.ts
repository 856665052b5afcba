import { type AdminRoute, get, post } from "../routes/route.ts";
import { pushOf, readFeed, verifyFeed } from "./feed.ts";
import { feedQuery, feedView, pushView, verifyQuery, verifyView } from "./schema.ts";

export const feedRoutes: readonly AdminRoute[] = [
  get(
    "/ledger/feed",
    "Follow the ledger: entries after a cursor, in an order that never changes",
    { query: feedQuery, answers: feedView },
    ({ deps, query }) => readFeed(deps, query),
  ),
  get(
    "/ledger/feed/verify",
    "Compare your number of entries and their sum with the ledger",
    { query: verifyQuery, answers: verifyView, limitedAs: "reports" },
    ({ deps, query }) => verifyFeed(deps, query),
  ),
  get(
    "/ledger/feed/push",
    "Show how far the feed has been pushed to its receiver",
    { answers: pushView },
    ({ deps }) => pushOf(deps),
  ),
  post(
    "/ledger/feed/resume",
    "Send the rejected or waiting post again",
    { answers: pushView },
    async ({ deps }) => {
      const before = await pushOf(deps);
      const isResumed = await deps.store.feed.push.resume();
      const detail = before.problem === null ? null : `the receiver ${before.problem}`;
      const change = isResumed ? { action: "feed.resume", target: before.through, detail } : null;
      return { answer: await pushOf(deps), change };
    },
  ),
];
