import { type Static, Type } from "@sinclair/typebox";
import { count, counted, figure, listOf, moment, nullable, oneOf, pageOf, text } from "../formats/shapes.ts";

const key = Type.String({ minLength: 1, description: "A key's id, prefix or unique label." });

const states = ["running", "waiting", "paused", "ended"] as const;
const units = ["credits", "tokens"] as const;

export const batchView = Type.Object({
  id: text("`batch_…`, or `msgbatch_…` for a message batch."),
  key: text("The key's prefix."),
  key_label: nullable(Type.String()),
  endpoint: text("What its lines call."),
  status: text("As its client sees it."),
  state: oneOf(states),
  reason: nullable(text("What it waits for, or why it is paused.")),
  total: count,
  completed: count,
  failed: counted("Lines that failed or never ran."),
  estimate: nullable(figure("What its lines would hold in all, which is more than they cost.")),
  charged: figure("What its lines were charged."),
  unit: oneOf(units),
  created_at: moment,
  expires_at: moment,
  ended_at: nullable(moment),
});
export type BatchView = Static<typeof batchView>;
export const batchPage = pageOf(batchView);

export const batchQuery = Type.Object({
  key: Type.Optional(key),
  state: Type.Optional(oneOf(["open", ...states])),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100 }),
  cursor: Type.Optional(Type.String()),
});

export const fileQuery = Type.Object({ key });

const fileView = Type.Object({
  id: text("`file-…`."),
  purpose: oneOf(["batch", "batch_output"]),
  batch: nullable(text("The batch whose results it has.")),
  bytes: count,
  created_at: moment,
  expires_at: moment,
});
export type FileView = Static<typeof fileView>;
export const fileList = listOf(fileView);

export const deletedFiles = Type.Object({
  key: text("The key's prefix."),
  deleted: counted("How many files were deleted. Files of batches that have not ended stay."),
});
export type DeletedFiles = Static<typeof deletedFiles>;
