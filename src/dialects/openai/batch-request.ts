import { Type } from "@sinclair/typebox";

const metadata = Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16 });

/** When a file is deleted. Also in the form of an upload. */
export const expiresAfter = Type.Object({
  anchor: Type.Literal("created_at"),
  seconds: Type.Integer({ minimum: 3600, maximum: 2_592_000 }),
});

/** The body of `POST /v1/batches`. */
export const batchRequest = Type.Object({
  input_file_id: Type.String({ minLength: 1 }),
  endpoint: Type.String(),
  completion_window: Type.Literal("24h"),
  output_expires_after: Type.Optional(Type.Union([expiresAfter, Type.Null()])),
  metadata: Type.Optional(Type.Union([metadata, Type.Null()])),
});
