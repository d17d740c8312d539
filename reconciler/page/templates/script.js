"use strict";
// None of this is needed to read a page: the slider, what is asked after the first answer, a live page
// and its news, keys that lead to the search, what it suggests while somebody types, and a button that copies.
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
const put = (text) => {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const field = document.activeElement;
  if (field && field.matches("input, select, textarea")) return false;
  for (const part of ["main", ".wrong-bar"]) {
    const [old, next] = [document.querySelector(part), fresh.querySelector(part)];
    if (old && next) old.replaceWith(next);
  }
  slider();
  copying();
  return true;
};
const ask = (address) => fetch(address, { headers: { accept: "text/html" } });
const complete = async () => {
  const rest = document.querySelector("[data-then]");
  const waits = () => rest && rest.isConnected;
  for (let tries = 0; waits() && tries < 20; tries += 1) {
    const answer = await ask(rest.dataset.then);
    if (answer.status === 200) {
      const text = await answer.text();
      if (waits() && put(text)) document.body.dataset.whole = rest.dataset.then;
    }
    if (answer.status !== 202) return;
    await new Promise((done) => setTimeout(done, 1000));
  }
  if (waits()) location.replace(rest.dataset.then); // it takes long; what there is so far is there
};
const renew = async (revision) => {
  const answer = await ask(document.body.dataset.whole || location.href);
  if (answer.status !== 200) return;
  if (!put(await answer.text())) return;
  document.body.dataset.live = revision;
  document.querySelector("#news").textContent = "Renewed: a pass has committed.";
  complete();
};
const UNITS = [[86400, 172800, "d"], [3600, 10800, "h"], [60, 120, "m"], [1, 0, "s"]];
const age = () => { // a page that stays open must not say what was true when it came
  for (const time of document.querySelectorAll("time[title]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - new Date(time.dateTime)) / 1000));
    const [size, , unit] = UNITS.find(([, least]) => seconds >= least);
    if (time.textContent.endsWith("ago")) time.textContent = `${Math.floor(seconds / size)}${unit} ago`;
  }
};
const follow = () => {
  const source = new EventSource(`events?since=${document.body.dataset.live}`);
  let heard = new Date();
  const see = (look, says) => Object.assign(document.querySelector("#seen") || {}, { className: look, textContent: says });
  source.addEventListener("seen", (event) => {
    const [look, ...words] = event.data.split(" ");
    heard = new Date();
    see(look, words.join(" "));
  });
  setInterval(() => {
    age();
    if (new Date() - heard > 30000) see("bad", `no answer since ${heard.toLocaleTimeString()}: nothing here is renewed`);
  }, 5000);
  source.addEventListener("moved", (event) => { if (event.data !== document.body.dataset.live) renew(event.data); });
};
const suggest = () => {
  const find = document.querySelector("#find");
  const list = document.querySelector("#suggestions");
  if (!find || !list) return;
  let asked = 0;
  const close = () => { asked += 1; list.hidden = true; };
  const step = (event) => {
    const links = [find, ...list.querySelectorAll("a")];
    const here = links.indexOf(document.activeElement);
    const ways = { ArrowDown: here + 1, ArrowUp: here - 1 };
    if (event.key === "Escape") { close(); find.focus(); }
    if (list.hidden || !(event.key in ways) || !links[ways[event.key]]) return;
    event.preventDefault();
    links[ways[event.key]].focus();
  };
  find.addEventListener("input", async () => {
    const words = find.value.trim();
    const mine = asked += 1;
    if (words.length < 2) { list.hidden = true; return; }
    await new Promise((done) => setTimeout(done, 200)); // whoever types on asks once
    if (mine !== asked) return;
    const answer = await ask(`search?list=1&q=${encodeURIComponent(words)}`);
    if (mine !== asked || answer.status !== 200) return;
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const lines = [...found.querySelectorAll("main li")].filter((one) => one.querySelector("a")).slice(0, 8);
    list.replaceChildren(...lines);
    list.hidden = !lines.length;
  });
  find.form.addEventListener("keydown", step);
  document.addEventListener("click", (event) => { if (!find.form.contains(event.target)) close(); });
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
suggest();
complete();
if (document.body.dataset.live) follow();
