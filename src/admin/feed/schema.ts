import { type Static, Type } from "@sinclair/typebox";
import { expectedText } from "../../base/text/schema-text.ts";
import { cursorPattern } from "../../feed/entry-document.ts";
import { counted, flag, when as moment, nullable, oneOf, text } from "../formats/shapes.ts";
import { entryView } from "../requests/schema.ts";

const { properties: ofEntry } = entryView;

const exact = (description: string) => text(`${description} An exact decimal number.`);
const cursor = (description: string) =>
  Type.String({
    pattern: cursorPattern,
    description,
    [expectedText]: "a cursor as the feed returns it, such as 1205.vOq0yX6mJc2dQf1K",
  });

const feedEntryView = Type.Object({
  id: ofEntry.id,
  cursor: text("The position of this entry in the feed. Pass it as `after` to get the entries that follow."),
  at: ofEntry.at,
  kind: ofEntry.kind,
  amount: exact("In `unit`; charges are negative."),
  unit: oneOf(["credits", "tokens"]),
  credits: nullable(exact("The amount in credits; null for a token budget.")),
  account_id: ofEntry.account_id,
  account_label: nullable(Type.String()),
  key_id: nullable(text("Null for an entry that belongs to an account and no key.")),
  key_label: ofEntry.key_label,
  owner: nullable(text("Who the key belonged to. Addresses are in lower case.")),
  user: nullable(text("The end user that the client sent.")),
  tags: Type.Record(Type.String(), Type.String()),
  request_id: ofEntry.request_id,
  model: nullable(text("The model that served the request.")),
  requested_model: ofEntry.requested_model,
  provider: ofEntry.provider,
  basis: ofEntry.basis,
  outcome: ofEntry.outcome,
  period_start: ofEntry.period_start,
  quantities: ofEntry.quantities,
  units: ofEntry.units,
  rates: ofEntry.rates,
  list_cost: nullable(exact("Cost at list price in credits, for a token-budget key.")),
  reference: ofEntry.reference,
  note: ofEntry.note,
  hash: nullable(
    text("Covers this entry and all before it of its account. Null in entries from before the chain."),
  ),
});
export type FeedEntryView = Static<typeof feedEntryView>;

export const feedQuery = Type.Object({
  after: Type.Optional(
    cursor("The cursor of the last entry that you have. Without it the feed begins at the first entry."),
  ),
  since: Type.Optional(moment),
  limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }),
});

export type FeedQuery = Static<typeof feedQuery>;

export const feedView = Type.Object({
  data: Type.Array(feedEntryView),
  next_cursor: nullable(
    text("Pass it as `after`, now or later, to get what follows. Null if there is no entry yet."),
  ),
  anchor: nullable(text("The newest anchor of the entries through the last one. Null before the first.")),
  restored: Type.Optional(
    Type.Array(
      Type.Object({
        at: Type.String({ format: "date-time", description: "When a backup was restored." }),
        after: nullable(
          text(
            "Entries that you got before `at`, and that follow this cursor, were undone. Null: all of them.",
          ),
        ),
      }),
      { description: "Restores of backups, the latest first. Absent if there was none." },
    ),
  ),
});
export type FeedView = Static<typeof feedView>;

const totals = Type.Object({ count: counted("Entries."), total: exact("The sum of their `credits`.") });

export const verifyQuery = Type.Object({
  through: cursor("The cursor of the last entry that you have."),
  count: counted("How many entries you have through that one."),
  total: Type.String({
    pattern: "^-?\\d{1,12}(\\.\\d{1,9})?$",
    description: "The sum of their `credits`.",
    [expectedText]: "a decimal number with at most nine decimals, such as -12.5",
  }),
  after: Type.Optional(
    cursor(
      "The cursor of the entry before your first one. Default: your entries begin with the ledger's first.",
    ),
  ),
  since: Type.Optional(moment),
});

export type VerifyQuery = Static<typeof verifyQuery>;

export const verifyView = Type.Object({
  ok: flag("Both agree with the ledger."),
  given: totals,
  ledger: totals,
});
export type VerifyView = Static<typeof verifyView>;

const when = (description: string) => Type.String({ format: "date-time", description });

export const pushView = Type.Object({
  state: oneOf(["not_begun", "sending", "retrying", "stopped"]),
  through: nullable(text("The cursor of the newest entry that the receiver has accepted.")),
  accepted_at: nullable(when("When it accepted that.")),
  waiting: counted("Entries that it has not accepted yet."),
  waiting_since: nullable(when("The time of the oldest of them.")),
  attempts: counted("Failed attempts to send the next post."),
  problem: nullable(text("Why the last one failed, such as `returned 503`.")),
  next_attempt_at: nullable(when("The time of the next attempt.")),
  stopped_at: nullable(when("When the receiver rejected the post.")),
});
export type PushView = Static<typeof pushView>;
