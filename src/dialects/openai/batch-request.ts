import { Type } from "@sinclair/typebox";

const metadata = Type.Record(Type.String(), Type.String({ maxLength: 512 }), { maxProperties: 16 });

/** The body of `POST /v1/batches`. */
export const batchRequest = Type.Object({
  input_file_id: Type.String({ minLength: 1 }),
  endpoint: Type.String(),
  completion_window: Type.Literal("24h"),
  metadata: Type.Optional(Type.Union([metadata, Type.Null()])),
});
