import type { BodyNames } from "../../contract/body-names.ts";
import { sharedTop } from "../../openai/request-fields.ts";

export const bodyNames: BodyNames = {
  top: [
    ...sharedTop,
    ...["messages", "stream_options", "max_tokens", "max_completion_tokens", "n", "reasoning_effort"],
    ...["functions", "function_call", "modalities", "audio", "response_format"],
  ],
  nested: [
    ...["type", "id", "role", "content", "include_usage", "tools", "file", "file_id"],
    ...["input_audio", "audio_url", "audio", "voice", "data"],
  ],
  defined: ["messages", "response_format", "tools", "tool_choice", "functions", "function_call"],
  callers: ["parameters", "json_schema", "arguments", "metadata", "logit_bias", "annotations"],
  stored: ["file_id"],
  mentions: {
    top: [["tools", "tools"]],
    nested: [
      ["type", "type"],
      ["tools", "tools"],
      // An earlier spoken answer.
      ["audio", "holder"],
      ["voice", "voice"],
      // Some providers infer a part's type from its other fields.
      ["input_audio", "speech"],
      ["audio_url", "speech"],
    ],
  },
};
