"use strict";
// Three things, none of them needed to read a page: the slider, a live page, and its news.
const slider = () => {
  for (const form of document.querySelectorAll("form.slider")) {
    const input = form.querySelector("input[type=range]");
    const steps = [...form.parentElement.querySelectorAll(".step")];
    const alone = !form.querySelector("button");
    const show = () => {
      steps.forEach((step, number) => { step.hidden = number !== Number(input.value); });
      const said = steps[input.value].querySelector("h2").textContent.trim();
      form.querySelector("output").textContent = said;
      input.setAttribute("aria-valuetext", said);
    };
    if (alone && steps.length) { input.addEventListener("input", show); show(); }
    if (!alone) input.addEventListener("change", () => form.requestSubmit());
  }
};
const renew = async (revision) => {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.status !== 200) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = fresh.querySelector("main");
  const field = document.activeElement;
  if (field && field.matches("input, select")) return;
  document.querySelector("main").replaceWith(main);
  document.body.dataset.live = revision;
  document.querySelector("#news").textContent = "Renewed: a pass has committed.";
  slider();
};
const follow = () => {
  const source = new EventSource(`events?since=${document.body.dataset.live}`);
  source.addEventListener("moved", (event) => { if (event.data !== document.body.dataset.live) renew(event.data); });
};
slider();
if (document.body.dataset.live) follow();
