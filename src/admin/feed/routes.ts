import { type AdminRoute, get } from "../routes/route.ts";
import { readFeed, verifyFeed } from "./feed.ts";
import { feedQuery, feedView, verifyQuery, verifyView } from "./schema.ts";

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
];
