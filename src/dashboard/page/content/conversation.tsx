import type { ComponentChildren } from "preact";
import type { Json } from "../../../base/json.ts";
import type { GenAiPart } from "../../../content/conversation/part.ts";
import { type Message, readConversation, readItems } from "../../../content/conversation/read.ts";
import { count } from "../format.ts";
import { Badge } from "../parts/badge.tsx";
import { JsonView } from "./json-view.tsx";

interface ConversationProps {
  readonly request: Json;
  readonly response: Json;
  /** Earlier items of the stored conversation that the request continued. */
  readonly earlier: readonly Json[];
  readonly dropped: readonly string[];
}

/** Request and response as messages, whatever their format. */
export function ConversationView({ request, response, earlier, dropped }: ConversationProps) {
  const { system, tools, input, output } = readConversation(request, response);
  const before = readItems(earlier, "");
  const isEmpty = [system, tools, before, input, output].every((each) => each.length === 0);
  if (isEmpty)
    return <p class="muted">No conversation to show. The JSON has everything that was recorded.</p>;
  return (
    <ol class="stack">
      {system.length > 0 && <MessageView message={{ role: "system", parts: system }} />}
      {tools.length > 0 && (
        <Turn by="tools">
          <Folded
            name={`${count(tools.length)} ${tools.length === 1 ? "tool" : "tools"} defined`}
            dropped={droppedAt("tools", dropped)}
          >
            <JsonView value={[...tools]} />
          </Folded>
        </Turn>
      )}
      {before.map((message) => (
        <MessageView key={`earlier${message.path}`} message={message} note="from the stored conversation" />
      ))}
      {input.map((message) => (
        <MessageView key={message.path} message={message} dropped={droppedAt(message.path, dropped)} />
      ))}
      {output.map((message, place) => (
        <MessageView key={`output${place}`} message={message} note={finishNote(message)} />
      ))}
    </ol>
  );
}

/** Dropped fields at or below this path. */
function droppedAt(path: string, dropped: readonly string[]): readonly string[] {
  return dropped.filter(
    (field) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`),
  );
}

function finishNote({ finish_reason: reason }: Message): string {
  return reason === undefined ? "response" : `response, ended by ${reason}`;
}

interface MessageViewProps {
  readonly message: Message;
  readonly note?: string;
  readonly dropped?: readonly string[];
}

function MessageView({ message: { role, parts }, note, dropped = [] }: MessageViewProps) {
  return (
    <Turn by={role} note={note}>
      {parts.length === 0 && <p class="muted">No text.</p>}
      {parts.map((part, place) => (
        <PartView key={place} part={part} />
      ))}
      <NotSent fields={dropped} />
    </Turn>
  );
}

function Turn(props: { by: string; note?: string | undefined; children: ComponentChildren }) {
  return (
    <li class={`said stack ${props.by}`}>
      <p class="line">
        <strong>{props.by}</strong>
        {props.note !== undefined && <small class="muted">{props.note}</small>}
      </p>
      {props.children}
    </li>
  );
}

export function NotSent({ fields }: { fields: readonly string[] }) {
  if (fields.length === 0) return null;
  return (
    <p class="line" data-test="not-sent">
      <Badge tone="warn">not sent to the provider</Badge>
      {fields.map((field) => (
        <code key={field}>{field}</code>
      ))}
    </p>
  );
}

function Folded(props: {
  name: ComponentChildren;
  dropped?: readonly string[];
  children: ComponentChildren;
}) {
  return (
    <>
      <details class="folded">
        <summary>{props.name}</summary>
        {props.children}
      </details>
      <NotSent fields={props.dropped ?? []} />
    </>
  );
}

function PartView({ part }: { part: GenAiPart }) {
  switch (part.type) {
    case "text":
      return <div class="text">{part.content}</div>;
    case "reasoning":
      return (
        <Folded name="Thinking">
          <div class="text muted">{part.content}</div>
        </Folded>
      );
    case "tool_call":
      return (
        <Folded
          name={
            <>
              Tool call <code>{part.name}</code>
            </>
          }
        >
          <JsonView value={part.arguments} />
        </Folded>
      );
    case "tool_call_response":
      return (
        <Folded name={<>Tool result {part.id !== null && <code>{part.id}</code>}</>}>
          <JsonView value={part.response} />
        </Folded>
      );
    case "uri":
      return <Placeholder kind={part.modality} about={part.uri} />;
    case "data":
      return (
        <Placeholder
          kind={part.modality}
          about={`${part.mime_type}, ${count(part.bytes)} bytes, SHA-256 ${part.sha256}`}
        />
      );
    default:
      return (
        <Folded name={<code>{part.name}</code>}>
          <JsonView value={part.value} />
        </Folded>
      );
  }
}

/** Replaces data that was not recorded; the page loads nothing from other addresses. */
function Placeholder({ kind, about }: { kind: string; about: string }) {
  return (
    <p class="placeholder line">
      <Badge tone="info">{kind}</Badge>
      <small class="muted">{about}</small>
    </p>
  );
}
