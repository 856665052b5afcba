import type { BodyNames } from "../../contract/body-names.ts";

export const bodyNames: BodyNames = {
  top: [
    ...["model", "messages", "system", "max_tokens", "stream", "tools", "tool_choice", "metadata"],
    ...["service_tier", "speed", "inference_geo", "compaction", "context_management"],
    ...["thread", "diagnostics", "container", "thinking", "output_config", "output_format"],
  ],
  nested: [
    ...["type", "id", "role", "content", "source", "data", "file_id", "tools", "definition"],
    ...["max_uses", "max_images", "previous_message_id", "skill_id", "container"],
  ],
  defined: ["messages", "system", "tools", "tool_choice"],
  callers: ["input_schema", "output_schema", "schema", "input_examples", "metadata", "citations"],
  stored: ["file_id"],
  mentions: {
    top: [
      ["thread", "thread"],
      ["diagnostics", "diagnostics"],
      ["container", "id"],
      ["tools", "tools"],
    ],
    nested: [
      ["type", "type"],
      ["tools", "tools"],
      ["container", "id"],
      ["skill_id", "skill"],
    ],
  },
};
