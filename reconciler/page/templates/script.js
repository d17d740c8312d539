"use strict";
// None of this is needed to read a page: the slider, a live page and its news, keys that lead to the
// search, and a button that copies.
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
const copying = () => {
  if (!navigator.clipboard) return;
  for (const line of document.querySelectorAll(".command:not(.copies)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(line.querySelector("code").textContent);
      button.textContent = "Copied";
    });
    line.classList.add("copies");
    line.append(button);
  }
};
const renew = async (revision) => {
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (answer.status !== 200) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const field = document.activeElement;
  if (field && field.matches("input, select, textarea")) return;
  for (const part of ["main", ".wrong-bar"]) {
    const [old, next] = [document.querySelector(part), fresh.querySelector(part)];
    if (old && next) old.replaceWith(next);
  }
  document.body.dataset.live = revision;
  document.querySelector("#news").textContent = "Renewed: a pass has committed.";
  slider();
  copying();
};
const follow = () => {
  const source = new EventSource(`events?since=${document.body.dataset.live}`);
  source.addEventListener("moved", (event) => { if (event.data !== document.body.dataset.live) renew(event.data); });
};
document.addEventListener("keydown", (event) => {
  const find = document.querySelector("#find");
  const writes = event.target.matches("input, select, textarea");
  const slash = event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey;
  const control = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
  if (find && (slash || control)) { event.preventDefault(); find.focus(); find.select(); }
});
slider();
copying();
if (document.body.dataset.live) follow();
