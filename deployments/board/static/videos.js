// The videos page: one player, scrub strips, and deciding by keyboard. The page works without it.
"use strict";

(() => {
  const list = document.getElementById("videos");
  if (!list) return;

  const HOVER_MS = 250;
  const FRAMES = 10;
  const DETAILS_MS = 80;
  /** As in the style sheet: the player is above the videos, not beside them. */
  const NARROW = window.matchMedia("(max-width: 900px)");
  const player = document.getElementById("player");
  const bulk = document.getElementById("bulk");
  const said = document.getElementById("said");
  const undone = [];
  let loading = new AbortController();
  let waiting = 0;

  // ---- which video is open ----

  const cards = () => [...list.children];
  const current = () => list.querySelector("[aria-current]") || list.firstElementChild;
  const reviewOf = (card) => card.querySelector(".decided").dataset.review;
  const linkOf = (card) => card.querySelector(".poster");
  const tell = (words) => { said.textContent = words; };

  /** Open a video: at once its poster, a moment later what there is to know of it. */
  function choose(card, { focus = true, at = null, play = false } = {}) {
    if (!card) return;
    keepDraft();
    for (const one of list.querySelectorAll("[aria-current]")) one.removeAttribute("aria-current");
    card.setAttribute("aria-current", "true");
    reach(card);
    if (focus) linkOf(card).focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
    const video = videoOf(card);
    if (player.getAttribute("src") !== video) show(video, card.querySelector("img").currentSrc);
    if (!aboutIs(card)) begin(card);
    if (play) playAt(at);
    window.clearTimeout(waiting);
    loading.abort();
    waiting = window.setTimeout(() => details(linkOf(card).href), play ? 0 : DETAILS_MS);
  }

  /** Notes that are written and not saved, by row: opening another video loses none of them. */
  const drafts = new Map();
  function keepDraft() {
    const note = document.getElementById("note");
    const row = document.getElementById("about")?.dataset.row;
    if (!note || !row) return;
    if (note.value !== note.defaultValue) drafts.set(row, note.value);
    else drafts.delete(row);
  }
  function restoreDraft() {
    const note = document.getElementById("note");
    const draft = drafts.get(document.getElementById("about")?.dataset.row);
    if (note && draft !== undefined && note !== document.activeElement) note.value = draft;
  }

  /** Until more of a video is known: its title, its verdict, and a form and a note that are its own. */
  function begin(card) {
    const about = document.getElementById("about");
    const form = about.querySelector("form.verdict");
    about.dataset.row = card.dataset.row;
    about.classList.add("is-loading");
    about.querySelector("h2").textContent = card.querySelector("img").alt;
    const row = document.getElementById("row");
    if (row) row.href = card.dataset.page;
    if (!form) return;
    const own = card.querySelector("form.verdict");
    const { verdict, reason, note } = lastOf(card);
    form.action = own.action;
    for (const name of ["take", "standing"]) form.elements[name].value = own.elements[name].value;
    const field = form.querySelector("textarea");
    field.defaultValue = note;
    field.value = note;
    restoreDraft();
    for (const button of form.querySelectorAll("button[aria-pressed]")) {
      const is = button.value === (button.name === "reason" ? reason : verdict);
      button.setAttribute("aria-pressed", String(is));
    }
  }

  const videoOf = (card) => card.dataset.strip.replace(/\.strip\.jpg$/, ".mp4");

  /** Let go of the video before, so that nothing of it is fetched any more, and put in another. */
  function show(video, poster) {
    player.pause();
    player.replaceChildren();
    player.removeAttribute("src");
    player.load();
    dropBefore();
    player.poster = poster;
    player.src = video;
  }

  function dropBefore() {
    const before = document.getElementById("before");
    if (!before) return;
    before.pause();
    before.removeAttribute("src");
    before.load();
    before.closest("figure").remove();
    document.getElementById("stage").classList.remove("two");
    for (const words of document.querySelectorAll("#stage figcaption")) words.remove();
  }

  /** Fetch the part of the page that is about a video; of several asked for the last one counts. */
  async function details(address) {
    loading = new AbortController();
    const { signal } = loading;
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal });
      if (!answer.ok) throw new Error(`the board answered ${answer.status}`);
      const fresh = parse(await answer.text());
      if (signal.aborted) return;
      stage(fresh.getElementById("stage"));
      keepDraft();
      put(fresh, "about");
      restoreDraft();
      cues();
      history.replaceState(null, "", address.split("#")[0]);
    } catch (error) {
      if (error.name !== "AbortError") tell("What is known of this video could not be read.");
    }
  }

  const parse = (text) => new DOMParser().parseFromString(text, "text/html");

  /** Put each named part of an answer in the place of the one that is here. */
  function put(fresh, ...ids) {
    for (const id of ids) {
      const [old, now] = [document.getElementById(id), fresh.getElementById(id)];
      if (!old || !now) continue;
      const held = old.contains(document.activeElement) ? document.activeElement : null;
      const { value, selectionStart, selectionEnd } = held || {};
      old.replaceWith(now);
      if (!held) continue;
      // Whoever was in it stays there: in the note with what is written, on the button of that name.
      const next = same(now, held) || linkOf(current());
      next.focus({ preventScroll: true });
      if (!next.matches("textarea")) continue;
      next.value = value;
      next.setSelectionRange(selectionStart, selectionEnd);
    }
  }

  const same = (part, held) =>
    [...part.querySelectorAll(held.localName)].find(
      (one) => one.name === held.name && (one.value === held.value || one.matches("textarea")),
    );

  /** Take over what the answer's player shows; the element stays, there are never more than two. */
  function stage(fresh) {
    const theirs = fresh.querySelector("#player");
    if (player.getAttribute("src") !== theirs.getAttribute("src")) {
      show(theirs.getAttribute("src"), theirs.poster);
    }
    player.poster = theirs.poster;
    player.setAttribute("aria-label", theirs.getAttribute("aria-label"));
    player.replaceChildren(...theirs.children);
    dropBefore();
    const before = fresh.querySelector("#before");
    if (!before) return;
    const place = document.getElementById("stage");
    place.classList.add("two");
    place.prepend(before.closest("figure"));
    const words = fresh.querySelector("figcaption");
    if (words) player.after(words);
    together();
  }

  /** What one player does, the other does: two takes side by side. */
  function together() {
    const before = document.getElementById("before");
    if (!before) return;
    player.onplay = () => before.isConnected && before.play().catch(() => {});
    player.onpause = () => before.pause();
    player.onseeked = () => { before.currentTime = player.currentTime; };
  }

  function playAt(at) {
    const start = () => {
      if (at !== null) player.currentTime = at;
      player.play().catch(() => {});
    };
    if (at === null || player.readyState) start();
    else {
      player.addEventListener("loadedmetadata", start, { once: true });
      player.preload = "metadata";
      player.load();
    }
  }

  const toggle = () => (player.paused ? playAt(null) : player.pause());

  /** Show the captions as text too; a cue leads to its moment. */
  function cues() {
    marks();
    const track = player.querySelector("track");
    const place = document.getElementById("cues");
    if (!track || !place) return;
    const fill = () => {
      place.replaceChildren(...[...track.track.cues].map(cueLine));
    };
    if (track.readyState === 2) fill();
    else track.addEventListener("load", fill, { once: true });
    track.addEventListener("error", () => { place.textContent = "They cannot be read."; });
  }

  /** Show where in the video notes are about, below the player; each leads to its moment. */
  function marks() {
    const place = document.getElementById("marks");
    const seconds = Number(current().dataset.seconds);
    if (!place || !seconds) return;
    const moments = [...document.querySelectorAll("#about .moment")];
    place.replaceChildren(...moments.map((moment) => {
      const mark = document.createElement("button");
      mark.type = "button";
      mark.tabIndex = -1;
      mark.className = "mark";
      mark.title = moment.closest("li").textContent.trim();
      mark.style.insetInlineStart = `${Math.min(100, (Number(moment.dataset.seconds) / seconds) * 100)}%`;
      mark.addEventListener("click", () => playAt(Number(moment.dataset.seconds)));
      return mark;
    }));
  }

  /** Begin a line of the note with the second that the player is at. */
  function noteAtThisSecond() {
    const note = document.getElementById("note");
    if (!note) return;
    player.pause();
    const before = note.value && !note.value.endsWith("\n") ? `${note.value}\n` : note.value;
    note.value = `${before}${clock(player.currentTime)} `;
    note.focus();
  }

  function cueLine(cue) {
    const line = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${clock(cue.startTime)} ${cue.getCueAsHTML().textContent}`;
    button.addEventListener("click", () => playAt(cue.startTime));
    line.append(button);
    return line;
  }

  const clock = (seconds) =>
    `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

  /** Show the take before beside the video that is open, or the video alone again. */
  function compare() {
    const address = new URL(linkOf(current()).href);
    if (!document.getElementById("before")) address.searchParams.set("compare", "yes");
    window.clearTimeout(waiting);
    loading.abort();
    return details(address.href).then(() => {
      document.getElementById("video").scrollTop = 0;
    });
  }

  // ---- moving ----

  function step(by) {
    const all = cards();
    const to = all.indexOf(current()) + by;
    if (to >= all.length) return more().then((came) => came && step(by));
    return choose(all[Math.max(0, to)]);
  }

  /** As many videos as are in a line of the sheet. */
  function columns() {
    const all = cards();
    const beside = all.findIndex((card) => card.offsetTop !== all[0].offsetTop);
    return beside < 0 ? all.length : beside;
  }

  async function nextUndecided() {
    const all = cards();
    const here = all.indexOf(current());
    const after = all.slice(here + 1).find((card) => !reviewOf(card));
    if (after) return choose(after);
    if (await more()) return nextUndecided();
    const any = all.find((card) => !reviewOf(card));
    return any ? choose(any) : tell("All videos here are decided.");
  }

  let fetching = null;

  /** Fetch the next videos behind those that are here; say whether any came. */
  function more() {
    const link = document.getElementById("more");
    if (!link) return Promise.resolve(false);
    fetching = fetching || fetchMore(link).finally(() => { fetching = null; });
    return fetching;
  }

  async function fetchMore(link) {
    const answer = await fetch(link.href);
    if (!answer.ok) return false;
    const fresh = parse(await answer.text());
    const came = [...fresh.querySelectorAll("#videos > li")];
    for (const card of came) {
      card.removeAttribute("aria-current");
      if (!document.getElementById(card.id)) list.append(document.adoptNode(card));
    }
    const next = fresh.getElementById("more");
    if (next) link.href = next.href;
    else link.closest("p").remove();
    came.forEach(settle);
    return came.length > 0;
  }

  // ---- deciding ----

  /** Give a verdict, or take it back (""); of a video one after the other, each knowing the last. */
  function decide(card, said) {
    card.deciding = (card.deciding || Promise.resolve()).then(() => send(card, said));
    card.querySelector(".decided").dataset.review = said.verdict;
    return card.deciding;
  }

  /** Send a verdict, and show what became of it; where it is lost the card says so. */
  async function send(card, { verdict, reason, note, remember = true }) {
    const form = card.querySelector("form.verdict");
    if (!form) return false;
    const body = new URLSearchParams(new FormData(form));
    const before = { row: card.dataset.row, ...lastOf(card), verdict: body.get("standing") };
    body.set("verdict", verdict);
    if (reason !== undefined) body.set("reason", reason);
    if (note !== undefined) body.set("note", note);
    card.classList.add("is-pending");
    let answer;
    try {
      answer = await fetch(form.action, { method: "POST", headers: { "HX-Request": "true" }, body });
      const fresh = parse(await answer.text());
      if (answer.status === 401) throw new Error("you are logged out: log in, or open your link again");
      if (!fresh.getElementById(`decided-${card.dataset.row}`)) throw new Error(`${answer.status}`);
      put(fresh, `decided-${card.dataset.row}`, "which", "retake");
      if (card === current() && aboutIs(card)) put(fresh, "about"), cues();
    } catch (error) {
      lose(card, before.verdict, error.message);
      return false;
    } finally {
      card.classList.remove("is-pending");
    }
    card.classList.remove("is-lost");
    // Another reason for the same verdict is no decision of its own.
    if (answer.ok && remember && before.verdict !== verdict) undone.push(before);
    if (answer.ok) tell(`${card.dataset.row}: ${WORDS[verdict]}.`);
    return answer.ok;
  }

  /** Say on its card that a decision came to nothing; the video is as it was. */
  function lose(card, verdict, why) {
    const place = card.querySelector(".decided");
    const words = document.createElement("p");
    place.dataset.review = verdict;
    place.querySelectorAll(".mistake").forEach((one) => one.remove());
    words.className = "mistake";
    words.setAttribute("role", "alert");
    words.textContent = `This was not noted (${why}). Decide again.`;
    place.append(words);
    card.classList.add("is-lost");
    if (NARROW.matches) card.scrollIntoView({ block: "center" });
  }

  const KEPT = document.querySelector("button.keep")?.textContent === "Approve" ? "approved" : "kept";
  const WORDS = { keep: KEPT, reject: "rejected", "": "undecided again" };
  const aboutIs = (card) => document.getElementById("about").dataset.row === card.dataset.row;

  function lastOf(card) {
    const { review, reason, note } = card.querySelector(".decided").dataset;
    return { verdict: review, reason, note };
  }

  function keep() {
    const card = current();
    decide(card, { verdict: "keep" });
    nextUndecided();
  }

  function rejectFor(number) {
    const reasons = document.querySelectorAll("#about button[name=reason]");
    const chosen = reasons[number - 1];
    if (!chosen) return;
    decide(current(), { verdict: "reject", reason: chosen.value, note: noteHere() });
    nextUndecided();
  }

  /** What is written of the video that is open; of another one nothing is known here. */
  const noteHere = () => (aboutIs(current()) ? document.getElementById("note")?.value : undefined);

  function undo() {
    const last = undone.pop();
    const card = last && document.getElementById(`video-${last.row}`);
    if (!card) return tell("There is nothing to undo.");
    choose(card);
    return decide(card, { ...last, remember: false });
  }

  function saveNote() {
    const card = current();
    decide(card, { verdict: reviewOf(card) || "reject", note: noteHere() });
    linkOf(card).focus();
  }

  // ---- many at once ----

  function count() {
    if (!bulk) return;
    const selected = list.querySelectorAll("input[name=row]:checked").length;
    const all = bulk.querySelector("input[name=all]");
    const number = all.checked ? Number(all.dataset.count) : selected;
    const of = Number(all.dataset.count).toLocaleString("en");
    document.getElementById("selected").textContent = number
      ? `${number.toLocaleString("en")} of ${of} selected`
      : "None selected";
    bulk.classList.toggle("is-idle", !number);
    for (const button of bulk.querySelectorAll("button")) button.disabled = !number;
  }

  // ---- the scrub strip ----

  /** Show the frame under the pointer, once it has rested on the video for a moment. */
  function scrub(card) {
    const poster = linkOf(card);
    let strip = null;
    let timer = 0;
    let x = 0;
    const place = () => {
      const part = Math.min(FRAMES - 1, Math.max(0, Math.floor(x * FRAMES)));
      if (strip) strip.style.backgroundPositionX = `${(part / (FRAMES - 1)) * 100}%`;
    };
    const attach = () => {
      const image = new Image();
      image.onload = () => {
        if (!poster.matches(":hover, .is-scrubbed")) return;
        strip = document.createElement("span");
        strip.className = "strip";
        strip.style.aspectRatio = `${image.naturalWidth / FRAMES} / ${image.naturalHeight}`;
        strip.classList.toggle("tall", image.naturalWidth / FRAMES < image.naturalHeight);
        strip.style.backgroundImage = `url("${card.dataset.strip}")`;
        poster.append(strip);
        place();
      };
      image.src = card.dataset.strip;
    };
    const leave = () => {
      window.clearTimeout(timer);
      poster.classList.remove("is-scrubbed");
      poster.querySelectorAll(".strip").forEach((one) => one.remove());
      strip = null;
    };
    poster.addEventListener("pointerenter", () => {
      poster.classList.add("is-scrubbed");
      timer = window.setTimeout(attach, HOVER_MS);
    });
    poster.addEventListener("pointermove", (event) => {
      const box = poster.getBoundingClientRect();
      x = (event.clientX - box.left) / box.width;
      place();
    });
    poster.addEventListener("pointerleave", leave);
    poster.addEventListener("pointercancel", leave);
    poster.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      const seconds = Number(card.dataset.seconds);
      const at = strip && seconds ? (Math.floor(x * FRAMES) / FRAMES) * seconds : null;
      choose(card, { at, play: event.detail > 0 && at !== null });
      if (NARROW.matches) document.getElementById("video").scrollIntoView();
    });
  }

  // ---- what happens when ----

  /** Of all videos only the open one is in the order of Tab: the others are reached by moving. */
  function reach(open) {
    for (const card of cards()) {
      for (const one of card.querySelectorAll("a, button, input")) {
        one.tabIndex = card === open ? 0 : -1;
      }
    }
  }

  function settle(card) {
    scrub(card);
    card.querySelector("img").addEventListener("error", () => card.classList.add("no-picture"));
  }

  const KEYS = {
    j: () => step(1),
    k: () => step(-1),
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    ArrowDown: () => step(columns()),
    ArrowUp: () => step(-columns()),
    ".": nextUndecided,
    a: keep,
    r: () => decide(current(), { verdict: "reject", note: noteHere() }),
    n: () => document.getElementById("note")?.focus(),
    m: noteAtThisSecond,
    u: undo,
    x: () => current().querySelector("input[name=row]")?.click(),
    p: toggle,
    c: compare,
    Enter: () => document.getElementById("row")?.click(),
  };

  // Before the keys of every page, which are told by what is prevented here.
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.altKey || event.metaKey || event.defaultPrevented) return;
    const note = target.id === "note";
    if (note && key === "Enter" && event.ctrlKey) return event.preventDefault(), saveNote();
    if (note && key === "Escape") return event.preventDefault(), linkOf(current()).focus();
    if (event.ctrlKey || off() || document.querySelector("dialog[open]")) return undefined;
    if (target.closest("select, textarea, video")) return undefined;
    if (target.matches("input:not([type=checkbox])")) return undefined;
    // What Enter and arrows do on a button or a box is theirs.
    if (key.length > 1 && target.closest("button, input, summary, a:not(.poster)")) return undefined;
    const act = KEYS[key] || (/^[1-9]$/.test(key) && (() => rejectFor(Number(key))));
    if (!act) return undefined;
    event.preventDefault();
    return act();
  }, true);

  const off = () => localStorage.getItem("callsheet-keys") === "off";

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.verdict")) return;
    const row = decodeURIComponent(form.action.split("/").at(-2));
    const card = document.getElementById(`video-${row}`);
    if (!card) return;
    event.preventDefault();
    const { name, value } = event.submitter;
    const verdict = name === "reason" ? "reject" : value;
    const reason = name === "reason" ? value : undefined;
    const note = form.querySelector("textarea")?.value;
    // Who rejects on the card is asked why beside it, or above.
    const own = form.matches(".whole");
    if (verdict === "reject" && !reason && !own) {
      if (card !== current()) choose(card, { focus: false });
      if (NARROW.matches) document.querySelector("#about form").scrollIntoView();
    }
    const goesOn = own && (reason || verdict === "keep") && !event.submitter.matches(".save");
    decide(card, { verdict, reason, note }).then((isNoted) => {
      // Who said all that there is to say beside the player goes on, as by a key.
      if (!isNoted || !goesOn || card !== current()) return;
      nextUndecided();
      if (NARROW.matches) document.getElementById("video").scrollIntoView();
    });
  });

  document.addEventListener("click", (event) => {
    const moment = event.target.closest("#about .moment");
    if (moment) return playAt(Number(moment.dataset.seconds));
    if (event.target.closest("#note-here")) return noteAtThisSecond();
    const link = event.target.closest("#compare");
    if (!link || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    compare();
  });

  list.addEventListener("change", count);
  bulk?.addEventListener("change", count);
  // Leave the page and come back: the browser restores what was selected.
  window.addEventListener("pageshow", count);
  const link = document.getElementById("more");
  if (link) {
    const seen = new IntersectionObserver((all) => all.some((one) => one.isIntersecting) && more(), {
      rootMargin: "600px",
    });
    seen.observe(link);
    link.addEventListener("click", (event) => { event.preventDefault(); more(); });
  }
  cards().forEach(settle);
  reach(current());
  cues();
  together();
})();
