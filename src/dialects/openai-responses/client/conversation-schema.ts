import { Type } from "@sinclair/typebox";
import { anyObject, optional } from "../../schema/fields.ts";

/** https://platform.openai.com/docs/api-reference/conversations */

const maxAtOnce = 20;
const items = Type.Array(anyObject, { maxItems: maxAtOnce });

const metadata = Type.Record(Type.String({ pattern: "^[^]{0,64}$" }), Type.String({ maxLength: 512 }), {
  additionalProperties: false,
  maxProperties: 16,
  description: "At most 16 pairs: names of up to 64 characters, and strings of up to 512.",
});

export const conversationRequest = Type.Object({ items: optional(items), metadata: optional(metadata) });

export const conversationItemsRequest = Type.Object({ items });

export const conversationUpdateRequest = Type.Object({ metadata: Type.Union([metadata, Type.Null()]) });

export const conversationResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal("conversation"),
  created_at: Type.Integer(),
  metadata: anyObject,
});

export const deletedConversation = Type.Object({
  id: Type.String(),
  object: Type.Literal("conversation.deleted"),
  deleted: Type.Literal(true),
});
