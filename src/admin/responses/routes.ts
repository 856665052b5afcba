import { type Static, Type } from "@sinclair/typebox";
import { plural } from "../../base/text/plural.ts";
import { count, moment, nullable, text } from "../formats/shapes.ts";
import { findKey } from "../key-terms/find-key.ts";
import { isoOrNull } from "../moments.ts";
import { type AdminRoute, deleteRoute, get } from "../routes/route.ts";

const ofKey = Type.Object({ key: text("A key's id, prefix or unique label.") });

const storedResponsesView = Type.Object({
  key: text("The key's prefix."),
  responses: count,
  conversations: count,
  bytes: count,
  oldest: nullable(moment),
  newest: nullable(moment),
});
export type StoredResponsesView = Static<typeof storedResponsesView>;

const deletedResponsesView = Type.Object({ key: text("The key's prefix."), deleted: count });
export type DeletedResponsesView = Static<typeof deletedResponsesView>;

/** Lists and deletes what clients stored with the Responses API, without showing its content. */
export const responseRoutes: readonly AdminRoute[] = [
  get(
    "/responses",
    "Show number, size and age of a key's stored responses and conversations",
    { query: ofKey, answers: storedResponsesView },
    async ({ deps, query }) => {
      const { id, prefix } = await findKey(deps, query.key);
      const sums = await deps.store.turns.sums(id, Math.floor(deps.clock.wallMs()));
      const { conversations, bytes, oldestAtMs, newestAtMs } = sums;
      const responses = sums.count - conversations;
      const age = { oldest: isoOrNull(oldestAtMs), newest: isoOrNull(newestAtMs) };
      return { key: prefix, responses, conversations, bytes, ...age };
    },
  ),
  deleteRoute(
    "/responses",
    "Delete all stored responses and conversations of a key",
    { query: ofKey, answers: deletedResponsesView },
    async ({ deps, query }) => {
      // The schema above has checked it.
      const { id, prefix } = await findKey(deps, (query as Static<typeof ofKey>).key);
      const deleted = await deps.store.turns.deleteAll(id);
      const change = { action: "response.delete_all", target: prefix, detail: plural(deleted, "response") };
      return { answer: { key: prefix, deleted }, change };
    },
  ),
];
