import type { BodyNames } from "../../contract/body-names.ts";
import { sharedTop } from "../../openai/request-fields.ts";

export const bodyNames: BodyNames = {
  top: [
    ...sharedTop,
    ...["input", "instructions", "max_output_tokens", "max_tool_calls", "include", "background"],
    ...["previous_response_id", "conversation", "context_management", "reasoning", "text"],
  ],
  nested: [
    ...["type", "id", "role", "content", "tools", "execution", "environment", "memory_limit", "definition"],
    ...["comparison_response_id", "skill_id", "encrypted_content", "result", "approval_request_id"],
    ...["file_id", "file_ids", "container", "container_id", "vector_store_ids", "previous_image_id"],
  ],
  defined: ["input", "instructions", "text", "tools", "tool_choice"],
  callers: ["parameters", "schema", "arguments", "metadata", "attributes", "headers", "annotations"],
  stored: [
    ...["file_id", "file_ids", "container_id", "vector_store_id", "vector_store_ids", "previous_image_id"],
    // It reaches the operator's own servers.
    "tunnel_id",
  ],
  mentions: {
    top: [
      ["previous_response_id", "conversation"],
      ["conversation", "conversation"],
      ["tools", "tools"],
    ],
    nested: [
      ["type", "type"],
      ["tools", "tools"],
      ["container", "id"],
      ["comparison_response_id", "comparison"],
      ["skill_id", "skill"],
    ],
  },
};
