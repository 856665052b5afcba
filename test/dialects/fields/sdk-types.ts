import type {
  BetaContentBlockParam,
  MessageCountTokensParams as BetaCountTokensParams,
  MessageCreateParams as BetaMessageCreateParams,
  BetaMessageParam,
  BetaMetadata,
  BetaOutputConfig,
  BetaThinkingConfigParam,
  BetaTool,
} from "@anthropic-ai/sdk/resources/beta/messages";
import type {
  ContentBlockParam,
  MessageCountTokensParams,
  MessageCreateParams,
  MessageParam,
  Metadata,
  OutputConfig,
  ThinkingConfigParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages";
import type {
  ChatCompletionContentPart,
  ChatCompletionContentPartRefusal,
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type {
  CustomTool,
  FunctionTool,
  ResponseCreateParams,
  ResponseInputContent,
  ResponseInputItem,
  ResponseOutputRefusal,
  ResponseOutputText,
  ResponseTextConfig,
} from "openai/resources/responses/responses";
import type { FunctionDefinition, Reasoning } from "openai/resources/shared";
import * as messages from "../../../src/dialects/anthropic-messages/client/fields.ts";
import type { FieldDecision } from "../../../src/dialects/contract/field-decisions.ts";
import * as chat from "../../../src/dialects/openai-chat/client/fields.ts";
import * as responses from "../../../src/dialects/openai-responses/client/fields.ts";

/**
 * The compiler holds the tables against the types of the vendors' SDKs: a field that a new version brings is an error
 * here until it has been decided what a translation does with it.
 */
type FieldsOf<Params> = Params extends unknown ? keyof Params & string : never;
/** A type that takes any name would be satisfied by every table. */
type Decided<Params> =
  string extends FieldsOf<Params> ? never : Readonly<Record<FieldsOf<Params>, FieldDecision>>;
type HeaderParam = (typeof messages.headerParams)[number];
type MessagesParams =
  | MessageCreateParams
  | BetaMessageCreateParams
  | MessageCountTokensParams
  | BetaCountTokensParams;

chat.requestFields satisfies Decided<ChatCompletionCreateParams>;
chat.messageFields satisfies Decided<ChatCompletionMessageParam>;
chat.functionFields satisfies Decided<FunctionDefinition>;
responses.requestFields satisfies Decided<ResponseCreateParams>;
responses.reasoningFields satisfies Decided<Reasoning>;
responses.textFields satisfies Decided<ResponseTextConfig>;
responses.functionFields satisfies Decided<FunctionTool>;
responses.customToolFields satisfies Decided<CustomTool>;
messages.requestFields satisfies Omit<Decided<MessagesParams>, HeaderParam>;
messages.messageFields satisfies Decided<MessageParam | BetaMessageParam>;
messages.outputConfigFields satisfies Decided<OutputConfig | BetaOutputConfig>;
messages.metadataFields satisfies Decided<Metadata | BetaMetadata>;
messages.thinkingFields satisfies Decided<ThinkingConfigParam | BetaThinkingConfigParam>;
messages.toolFields satisfies Decided<Tool | BetaTool>;

type OfType<Union, Type> = Union extends { type?: infer Own } ? (Type extends Own ? Union : never) : never;
type PartsDecided<Table, Union> = { readonly [Type in keyof Table]: Decided<OfType<Union, Type>> };

chat.partFields satisfies PartsDecided<
  typeof chat.partFields,
  ChatCompletionContentPart | ChatCompletionContentPartRefusal
>;
responses.itemFields satisfies PartsDecided<typeof responses.itemFields, ResponseInputItem>;
responses.partFields satisfies PartsDecided<
  typeof responses.partFields,
  ResponseInputContent | ResponseOutputText | ResponseOutputRefusal
>;
messages.blockFields satisfies PartsDecided<
  typeof messages.blockFields,
  ContentBlockParam | BetaContentBlockParam
>;

/** What becomes of an item or a block as a whole, by its type. Those that are read are decided on field by field. */
type TypesOf<Union> = Union extends { type?: infer Own } ? Own & string : never;
export type WholeDecision = "read" | "dropped" | "refused";

export const itemTypes: Readonly<Record<TypesOf<ResponseInputItem>, WholeDecision>> = {
  additional_tools: "read",
  apply_patch_call: "refused",
  apply_patch_call_output: "refused",
  code_interpreter_call: "dropped",
  compaction: "refused",
  compaction_trigger: "refused",
  computer_call: "refused",
  computer_call_output: "refused",
  configuration_update: "refused",
  custom_tool_call: "read",
  custom_tool_call_output: "read",
  file_search_call: "dropped",
  function_call: "read",
  function_call_output: "read",
  image_generation_call: "dropped",
  item_reference: "refused",
  local_shell_call: "refused",
  local_shell_call_output: "refused",
  mcp_approval_request: "refused",
  mcp_approval_response: "refused",
  mcp_call: "dropped",
  mcp_list_tools: "dropped",
  message: "read",
  program: "refused",
  program_output: "refused",
  reasoning: "read",
  shell_call: "refused",
  shell_call_output: "refused",
  tool_search_call: "read",
  tool_search_output: "read",
  web_search_call: "dropped",
};

export const blockTypes: Readonly<Record<TypesOf<ContentBlockParam | BetaContentBlockParam>, WholeDecision>> =
  {
    advisor_tool_result: "dropped",
    bash_code_execution_tool_result: "dropped",
    code_execution_tool_result: "dropped",
    compaction: "refused",
    container_upload: "refused",
    document: "read",
    fallback: "dropped",
    image: "read",
    mcp_tool_listing: "dropped",
    mcp_tool_result: "dropped",
    mcp_tool_use: "dropped",
    redacted_thinking: "read",
    search_result: "read",
    server_tool_use: "dropped",
    text: "read",
    text_editor_code_execution_tool_result: "dropped",
    thinking: "read",
    tool_addition: "read",
    tool_removal: "read",
    tool_result: "read",
    tool_search_tool_result: "dropped",
    tool_use: "read",
    web_fetch_tool_result: "dropped",
    web_search_tool_result: "dropped",
  };
