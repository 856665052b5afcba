import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { HealthView } from "../../admin/system/schema.ts";
import { decoded } from "../../base/text/decoded.ts";
import { askWhoIsSignedIn, session, useAnswer } from "./api.ts";
import { zoneWord } from "./format.ts";
import { AccountPage } from "./pages/account.tsx";
import { Accounts } from "./pages/accounts.tsx";
import { Alerts } from "./pages/alerts.tsx";
import { Batches } from "./pages/batches.tsx";
import { RequestPage } from "./pages/exchange-detail.tsx";
import { Exchanges } from "./pages/exchanges.tsx";
import { KeyPage } from "./pages/key.tsx";
import { Keys } from "./pages/keys.tsx";
import { ModelPage } from "./pages/model.tsx";
import { Models } from "./pages/models.tsx";
import { Overview } from "./pages/overview.tsx";
import { Playground } from "./pages/playground.tsx";
import { Reconcile } from "./pages/reconcile.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { System } from "./pages/system.tsx";
import { Tail } from "./pages/tail.tsx";
import { Usage } from "./pages/usage.tsx";
import { Button } from "./parts/button.tsx";
import { OpenDialog } from "./parts/dialogs.tsx";
import { Icon, type IconName, Mark } from "./parts/icon.tsx";
import { Notices } from "./parts/notices.tsx";
import { PageHead } from "./parts/page-head.tsx";
import { PersonButtons } from "./parts/person-buttons.tsx";
import { hrefOf, isSelfServicePage, path } from "./router.ts";
import { Search } from "./search/search-dialog.tsx";
import { useFound } from "./search/use-found.ts";
import { SelfService } from "./self-service/self-service.tsx";
import { useSettling } from "./settle.ts";
import { otherZone } from "./zone.ts";

interface Place {
  readonly path: string;
  readonly title: string;
  readonly icon: IconName;
  readonly page: () => ComponentChildren;
}

const places: readonly Place[] = [
  { path: "", title: "Overview", icon: "overview", page: () => <Overview /> },
  { path: "keys", title: "Keys", icon: "keys", page: () => <Keys /> },
  { path: "accounts", title: "Accounts", icon: "accounts", page: () => <Accounts /> },
  { path: "models", title: "Models", icon: "models", page: () => <Models /> },
  { path: "reports", title: "Usage", icon: "usage", page: () => <Usage /> },
  { path: "requests", title: "Requests", icon: "exchanges", page: () => <Exchanges /> },
  { path: "batches", title: "Batches", icon: "batches", page: () => <Batches /> },
  { path: "reconcile", title: "Reconcile", icon: "reconcile", page: () => <Reconcile /> },
  { path: "playground", title: "Playground", icon: "playground", page: () => <Playground /> },
  { path: "tail", title: "Live tail", icon: "tail", page: () => <Tail /> },
  { path: "system", title: "System", icon: "settings", page: () => <System /> },
];

/** The pages that the search offers. */
const alerts = { path: "alerts", title: "Alerts" };
const pages = [...places, alerts].map(({ path: target, title }) => ({
  ...{ text: title, about: "page", target: hrefOf(target) },
}));

const useFoundHere = (typed: string) => useFound(typed, pages);

function pageAt(here: string): ComponentChildren {
  const place = places.find((candidate) => candidate.path === here);
  if (place) return place.page();
  if (here === "alerts") return <Alerts />;
  if (here.startsWith("keys/")) return <KeyPage key={here} id={here.slice("keys/".length)} />;
  if (here.startsWith("models/")) return <ModelPage key={here} id={decoded(here.slice("models/".length))} />;
  if (here.startsWith("requests/")) return <RequestPage key={here} id={here.slice("requests/".length)} />;
  if (here.startsWith("accounts/")) return <AccountPage key={here} id={here.slice("accounts/".length)} />;
  return (
    <>
      <PageHead title="Page not found" />
      <p>
        <a href={hrefOf("")}>Back to the overview</a>
      </p>
    </>
  );
}

function Navigation() {
  const section = path.value.split("/")[0];
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path.value]);
  return (
    <nav class={open ? "side open" : "side"} aria-label="Pages">
      <a class="brand line" href={hrefOf("")}>
        <Mark />
        Sluice
      </a>
      <span class="side-search">
        <Search useFound={useFoundHere} placeholder="Key, account, model, page or action" />
      </span>
      <span class="unfold">
        <Button kind="quiet" icon={open ? "close" : "menu"} label="Menu" onClick={() => setOpen(!open)} />
      </span>
      <ul>
        {places.map((place) => (
          <li key={place.path}>
            <a
              class="line"
              href={hrefOf(place.path)}
              aria-current={section === place.path ? "page" : undefined}
            >
              <Icon name={place.icon} />
              {place.title}
            </a>
          </li>
        ))}
      </ul>
      <div class="side-end line">
        <small class="muted who">{session.value?.name}</small>
        <Button kind="quiet" icon="clock" onClick={otherZone}>
          Times in {zoneWord(Date.now())}
        </Button>
        <PersonButtons />
      </div>
    </nav>
  );
}

/** Shown above every page while the gateway is not accepting requests: why, and what to do. */
function ProblemBanner() {
  const { problem } = useAnswer<HealthView>("/health", 5000).value ?? {};
  if (!problem) return null;
  return (
    <div class="callout bad" role="alert">
      <Icon name="warning" />
      <p>
        <strong>Not accepting requests: {problem.reason}</strong> {problem.advice}
      </p>
    </div>
  );
}

function Content({ here }: { here: string }) {
  const isSettling = useSettling(here);
  return (
    <main id="content" tabIndex={-1} class={isSettling ? "settling" : undefined}>
      <ProblemBanner />
      {pageAt(here)}
    </main>
  );
}

export function App() {
  useEffect(() => {
    void askWhoIsSignedIn();
  }, []);
  const here = path.value;
  const title = places.find((place) => place.path === here.split("/")[0])?.title;
  useEffect(() => {
    document.title = title ? `${title} · Sluice` : "Sluice";
  }, [title]);

  if (session.value === null) return <div role="status" aria-label="Loading" />;
  if (isSelfServicePage || session.value.role === "member") return <SelfService />;
  if (!session.value.signed_in) return <SignIn />;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Navigation />
      <Content here={here} />
      <OpenDialog />
      <Notices />
    </>
  );
}
