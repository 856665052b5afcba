import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/controls.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/pages.css";
import "./style/playground.css";
import { App } from "./app.tsx";
import { followLinks } from "./router.ts";
import { keepThemeStamped } from "./theme.ts";

const place = document.getElementById("app");
if (place) {
  keepThemeStamped();
  document.addEventListener("click", followLinks);
  render(<App />, place);
}
