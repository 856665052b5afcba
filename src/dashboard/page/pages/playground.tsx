import { useState } from "preact/hooks";
import type { Page } from "../../../admin/formats/shapes.ts";
import type { ModelBriefView } from "../../../admin/models/schema.ts";
import type { RouteView } from "../../../admin/system/schema.ts";
import { tryParse } from "../../../base/json.ts";
import { useAnswer } from "../api.ts";
import { preferredFor } from "../example-model.ts";
import { modelChoices, useModels } from "../model-list.ts";
import { Button } from "../parts/button.tsx";
import { ComboField } from "../parts/combo-box.tsx";
import { SelectField } from "../parts/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Failure } from "../parts/states.tsx";
import { forgetSecret, secretFor } from "../playground/payer.ts";
import { takeRecorded } from "../playground/recorded.ts";
import { type PageRoute, pageRoutes, pathOf, type Question } from "../playground/routes.ts";
import { bodyOf } from "../playground/run.ts";
import { callsFor, type Sent, turnsFor, useRounds } from "../playground/use-rounds.ts";
import { query } from "../router.ts";
import { RequestCode } from "./playground-code.tsx";
import { firstForm, MessageFields, RecordedFields, SettingFields } from "./playground-form.tsx";
import { usePayer } from "./playground-payer.tsx";
import { RoundViews } from "./playground-run.tsx";

/** A route of the server that the page has a form for. */
interface Place extends RouteView {
  readonly name: string;
  readonly route: PageRoute;
}

/** A dialect has one form for all of its paths. */
function nameOf({ dialect, operation }: RouteView): string {
  return dialect ?? operation;
}

/** Deduplicated, because some routes have several paths. */
function placesFor(routes: readonly RouteView[], mode: RouteView["mode"]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const view of routes) {
    const name = nameOf(view);
    const route = pageRoutes[name];
    if (view.mode === mode && view.method === "POST" && route && !places.has(name))
      places.set(name, { ...view, name, route });
  }
  return [...places.values()];
}

function serves(candidate: ModelBriefView, use: string | null | undefined): boolean {
  return candidate.serves.some((served) => served === use);
}

/** Null for an empty text; throws if it is not a list. */
function readTools(text: string): readonly unknown[] | null | Error {
  if (text.trim() === "") return null;
  const tools = tryParse(text);
  return Array.isArray(tools)
    ? tools
    : new Error("Tools are not a JSON list. Correct them, or leave them empty.");
}

export function Playground() {
  const models = useModels();
  const routes = useAnswer<Page<RouteView>>("/routes");
  const { payer, field: payerField } = usePayer();
  const [recorded] = useState(takeRecorded);
  const [routeName, setRouteName] = useState("");
  const [body, setBody] = useState(recorded?.body ?? "");
  const [chosenModel, setModel] = useState(recorded?.model ?? query.value.get("model") ?? "");
  const [other, setOther] = useState("");
  const [form, setForm] = useState(firstForm);
  const [problem, setProblem] = useState<Error | null>(null);
  const { rounds, isRunning, start, stop, clear } = useRounds(forgetSecret);

  const places = placesFor(routes.value?.data ?? [], payer?.mode ?? "credit");
  const sentTo = routes.value?.data.find(({ method, path }) => method === "POST" && path === recorded?.route);
  const served = models.value?.data.filter(({ id }) => id === chosenModel) ?? [];
  const place =
    places.find(({ name }) => name === routeName) ??
    places.find(({ name }) => sentTo !== undefined && name === nameOf(sentTo)) ??
    places.find(({ use }) => served.some((candidate) => serves(candidate, use))) ??
    places[0];
  const serving = models.value?.data.filter((candidate) => serves(candidate, place?.use)) ?? [];
  const names = serving.map(({ id }) => id);
  const model = names.includes(chosenModel) ? chosenModel : (preferredFor("curl", serving) ?? "");
  const second = names.includes(other) && other !== model ? other : "";
  const isConversation = place?.route.calls !== undefined && body === "";
  const past = isConversation ? rounds : [];
  const tools = readTools(form.tools);

  /** The question for a column: each model continues its own conversation. */
  const questionFor = (column: number, before = past, next: Sent = form): Question => ({
    ...form,
    model: column === 0 ? model : second,
    turns: turnsFor(before, column, next),
    tools: tools instanceof Error ? null : tools,
    maxTokens: form.maxTokens.trim() === "" ? null : Number(form.maxTokens),
  });

  /** The question to show: the next one, or the last one sent until there is a new one. */
  const lastSent = form.text === "" ? past.at(-1) : undefined;
  const shownQuestion = lastSent === undefined ? questionFor(0) : questionFor(0, past.slice(0, -1), lastSent);

  const send = async (event: Event) => {
    event.preventDefault();
    if (place === undefined || payer === null || isRunning) return;
    setProblem(tools instanceof Error ? tools : null);
    if (tools instanceof Error) return;
    const columns = second === "" ? [0] : [0, 1];
    const { path, route } = place;
    const secret = await secretFor(payer).catch((error: Error) => setProblem(error));
    if (secret === undefined) return;
    const calls = columns.map((column) => ({
      ...{ secret, path, route, question: questionFor(column) },
      ...(body === "" ? {} : { body }),
    }));
    start({ text: body === "" ? form.text : "", images: isConversation ? form.images : [] }, calls, past);
    if (isConversation) setForm({ ...form, text: "", images: [] });
  };

  return (
    <>
      <PageHead
        title="Playground"
        about="Calls this gateway with a key, like a client. Requests are charged."
      />
      <form class="playground" onSubmit={send}>
        <div class="card stack settings">
          {payerField}
          <SelectField
            label="Route"
            state={[place?.name ?? "", setRouteName]}
            choices={places.map(({ name, route }) => ({ value: name, text: route.name }))}
            hint={place && <code>POST {pathOf(place.route, place.path, shownQuestion)}</code>}
          />
          <ComboField
            label="Model"
            state={[model, setModel]}
            choices={modelChoices(serving)}
            hint={
              models.value !== null && place?.use && names.length === 0 ? (
                <>
                  No model serves this: add <code>serves = ["{place.use}"]</code> to one in the configuration.
                </>
              ) : undefined
            }
          />
          {names.length > 1 && (
            <ComboField
              label="Compare with"
              state={[second, setOther]}
              choices={modelChoices(serving.filter(({ id }) => id !== model))}
              placeholder="no second model"
            />
          )}
          {place && body === "" && <SettingFields route={place.route} form={form} onForm={setForm} />}
        </div>
        <div class="stack">
          <RoundViews rounds={rounds} />
          <div class="card stack composer">
            {problem && <Failure error={problem} />}
            {place && body === "" && (
              <MessageFields
                route={place.route}
                form={form}
                onForm={setForm}
                isForTools={callsFor(past, 0).length > 0}
              />
            )}
            {body !== "" && <RecordedFields state={[body, setBody]} />}
            <div class="line">
              {isRunning ? (
                // A key each: one element that turns from Stop into Send would submit the form by the same click.
                <Button key="stop" icon="stop" onClick={stop}>
                  Stop
                </Button>
              ) : (
                <Button
                  key="send"
                  type="submit"
                  kind="primary"
                  icon="playground"
                  disabled={payer === null || place === undefined || model === ""}
                >
                  Send
                </Button>
              )}
              {rounds.length > 0 && !isRunning && <Button onClick={clear}>Clear</Button>}
            </div>
          </div>
          {place && (
            <RequestCode
              request={{
                ...{ origin: location.origin, route: place.route },
                path: pathOf(place.route, place.path, shownQuestion),
                body: bodyOf({
                  ...{ route: place.route, question: shownQuestion },
                  ...(body === "" ? {} : { body }),
                }),
              }}
            />
          )}
        </div>
      </form>
    </>
  );
}
