import { useState } from "preact/hooks";
import type { ContentView } from "../../../admin/content/schema.ts";
import type { Json } from "../../../base/json.ts";
import { api, session, shownKey, useLoaded } from "../api.ts";
import { count } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { choicesOf } from "../parts/choose.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { curlOf } from "../playground/code.ts";
import { openInPlayground } from "../playground/recorded.ts";
import { ConversationView, NotSent } from "./conversation.tsx";
import { JsonView } from "./json-view.tsx";

/** The recorded request and response, for people who can read them. Loaded on demand, because each read is audited. */
export function RequestContent({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false);
  if (session.value?.reads_content !== true || shownKey.value !== null) return null;
  return (
    <>
      <h2>Content</h2>
      {isOpen ? (
        <Loaded id={id} />
      ) : (
        <div class="line">
          <Button onClick={() => setOpen(true)}>Show content</Button>
          <small class="muted">The audit log records who reads it.</small>
        </div>
      )}
    </>
  );
}

function Loaded({ id }: { id: string }) {
  const path = `/requests/${encodeURIComponent(id)}/content`;
  const loaded = useLoaded(path, () => api.get<ContentView>(path));
  return <LoadedContent loaded={loaded}>{(content) => <Content content={content} />}</LoadedContent>;
}

const views = {
  conversation: "Conversation",
  request: "Request",
  response: "Response",
  upstream: "Provider",
};

function Content({ content }: { content: ContentView }) {
  const [view, setView] = useState("conversation");
  const { upstream, dropped } = content;
  // Recorded bodies are always JSON.
  const [request, response] = [content.request as Json, content.response as Json];
  const elsewhere = dropped.filter((field) => !/^(?:messages|input|tools)\b/.test(field));
  const sentAgain = curlOf({
    ...{ origin: location.origin, path: content.route },
    body: JSON.stringify(request),
  });
  const shown = choicesOf(views).filter(({ value }) => value !== "upstream" || upstream !== null);
  return (
    <div class="stack">
      <div class="line">
        <Segmented label="Show" state={[view, setView]} choices={shown} />
        <CopyButton text={sentAgain} label="Copy as curl" />
        <ForAdmins>
          <Button icon="playground" onClick={() => openInPlayground(content)}>
            Open in playground
          </Button>
        </ForAdmins>
      </div>
      <Cut content={content} />
      {view === "conversation" && (
        <>
          <NotSent fields={elsewhere} />
          <ConversationView
            request={request}
            response={response}
            earlier={(content.conversation ?? []) as readonly Json[]}
            dropped={dropped}
          />
          <ErrorOf response={response} />
        </>
      )}
      {view === "request" && <Raw value={request} dropped={dropped} />}
      {view === "response" && <Raw value={response} />}
      {view === "upstream" && upstream !== null && (
        <>
          <h3>Sent to the provider</h3>
          <Raw value={upstream.request as Json} />
          <h3>Returned by the provider</h3>
          <Raw value={upstream.response as Json} />
        </>
      )}
    </div>
  );
}

function Cut({ content: { request_cut: request, response_cut: response } }: { content: ContentView }) {
  const sides = [
    ["request", request],
    ["response", response],
  ] as const;
  return (
    <>
      {sides.map(
        ([name, cut]) =>
          cut > 0 && (
            <p key={name} class="muted">
              {count(cut)} bytes of the {name} were cut.
            </p>
          ),
      )}
    </>
  );
}

function ErrorOf({ response }: { response: Json }) {
  if (response === null) return <p class="muted">The client got no response.</p>;
  const error = typeof response === "object" && !Array.isArray(response) ? response["error"] : null;
  return error == null ? null : <JsonView value={error} />;
}

function Raw({ value, dropped = [] }: { value: Json; dropped?: readonly string[] }) {
  return (
    <>
      <div class="line">
        <CopyButton text={JSON.stringify(value, null, 2)} label="Copy JSON" />
      </div>
      <JsonView value={value} dropped={dropped} />
    </>
  );
}
