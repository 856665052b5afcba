import { useRef, useState } from "preact/hooks";
import type { ModelView, Page } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Field, SelectField, TextField } from "../parts/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { type PageDialectName, pageDialects } from "../playground/dialects.ts";
import { type Run, run } from "../playground/run.ts";
import { query } from "../router.ts";
import { type ChosenKey, firstChoice, KeyChoice } from "./playground-key.tsx";
import { RunView } from "./playground-run.tsx";

const dialectChoices = Object.entries(pageDialects).map(([value, { name }]) => ({ value, text: name }));

export function Playground() {
  const models = useLoaded("models", () => api.get<Page<ModelView>>("/models"));
  const [key, setKey] = useState<ChosenKey>(firstChoice);
  const [dialect, setDialect] = useState<PageDialectName>("chat");
  const [chosenModel, setModel] = useState(query.value.get("model") ?? "");
  const [system, setSystem] = useState("");
  const [text, setText] = useState("Say hello in three languages.");
  const [maxTokens, setMaxTokens] = useState("256");
  const [stream, setStream] = useState(true);
  const [current, setCurrent] = useState<Run | null>(null);
  const stopper = useRef<AbortController | null>(null);

  const names = models.value?.data.map((model) => model.id) ?? [];
  const model = chosenModel === "" ? (names[0] ?? "") : chosenModel;
  const running = current?.state === "running";

  const send = (event: Event) => {
    event.preventDefault();
    const limit = maxTokens.trim() === "" ? null : Number(maxTokens);
    const question = { model, system, text, maxTokens: limit, stream };
    stopper.current = new AbortController();
    const call = { secret: key.secret.trim(), tokenOrigin: key.mode === "token_budget", dialect, question };
    void run(call, stopper.current.signal, setCurrent);
  };

  return (
    <>
      <PageHead
        title="Playground"
        about="Calls this gateway as a client would, with a key, and pays for it."
      />
      <div class="playground">
        <form class="card" onSubmit={send}>
          <KeyChoice chosen={key} onChoose={setKey} />
          <Segmented
            label="Dialect"
            value={dialect}
            choices={dialectChoices}
            onValue={(value) => setDialect(value as PageDialectName)}
          />
          <SelectField
            label="Model"
            value={model}
            choices={names.map((name) => ({ value: name, text: name }))}
            onValue={setModel}
          />
          <TextField label="System" value={system} onValue={setSystem} placeholder="none" />
          <Field label="Message">
            {(id) => (
              <textarea
                id={id}
                rows={5}
                value={text}
                required
                onInput={(event) => setText(event.currentTarget.value)}
              />
            )}
          </Field>
          <div class="pair">
            <TextField label="Most tokens" value={maxTokens} onValue={setMaxTokens} inputMode="numeric" />
            <label class="tick">
              <input
                type="checkbox"
                checked={stream}
                onChange={(event) => setStream(event.currentTarget.checked)}
              />
              Stream
            </label>
          </div>
          {running ? (
            <Button icon="stop" onClick={() => stopper.current?.abort()}>
              Stop
            </Button>
          ) : (
            <Button type="submit" kind="primary" icon="playground" disabled={key.secret.trim() === ""}>
              Send
            </Button>
          )}
        </form>
        <RunView run={current} />
      </div>
    </>
  );
}
