// What scripts add to pages that are whole without them: live words, keys, copying, dropping a file.
// Attributes that it knows: data-at, data-copy, data-keys, data-keys-off, data-title, data-select-all, data-select-group,
// data-select-bar, data-follow, data-more, data-icon, data-tell with data-going, data-needs and data-campaign.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("has-scripts");
  // Loaded again or come back to, a page sends no form twice and says nothing twice.
  if (root.dataset.at) history.replaceState(null, "", root.dataset.at);
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  // Moments in words that stay true: "3 min ago".
  const STEPS = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"], [2592000, 86400, "d"]];
  const ago = (seconds) => {
    if (seconds < 5) return "just now";
    const step = STEPS.find(([below]) => seconds < below);
    return step ? `${Math.floor(seconds / step[1])} ${step[2]} ago` : null;
  };
  const tick = () => all("time[data-ago]").forEach((time) => {
    const words = ago((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (words && time.textContent !== words) time.textContent = words;
  });
  // Times in the zone of the browser; without scripts they stay in UTC, and say so.
  const local = () => all("time[datetime]").forEach((time) => {
    const when = new Date(time.dateTime);
    const words = when.toLocaleString([], { dateStyle: "medium", timeStyle: "long" });
    if (time.title !== words) time.title = words;
    if (!("day" in time.dataset)) return;
    const day = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    if (time.textContent !== day) time.textContent = day;
  });

  // The stream of a page: said to be cut as soon as it is, and never by a spinner.
  const bar = () => document.getElementById("not-live");
  let cutAt = null;
  let saying = 0;
  const cut = () => {
    if (cutAt || document.hidden) return;
    cutAt = new Date();
    const since = cutAt.toLocaleTimeString([], { hour12: false });
    // One that is back within a moment, as at the end of its time, is none to speak of.
    saying = setTimeout(() => {
      bar().querySelector("span").textContent =
        `Not live since ${since}. Reconnecting; what you see may be older.`;
      bar().hidden = false;
    }, 1500);
  };
  const live = () => {
    clearTimeout(saying);
    cutAt = null;
    bar().hidden = true;
  };
  document.addEventListener("htmx:sse:error", cut);
  // The extension comes back by itself only to a stream that it once had.
  document.addEventListener("htmx:error", (event) => {
    const stream = event.detail.ctx && event.detail.ctx.sourceElement;
    if (!stream || !stream.matches("[hx-sse\\:connect]")) return;
    cut();
    setTimeout(() => htmx.trigger(stream, "again"), 3000);
  });
  document.addEventListener("htmx:sse:close", (event) => {
    if (event.detail.reason === "ended") cut();
  });
  // The stream broke off and is about to be asked for again.
  document.addEventListener("htmx:sse:before:connection", (event) => {
    if (event.detail.connection.attempt > 0) cut();
  });
  document.addEventListener("htmx:sse:after:connection", live);

  // The window's title carries what counts, and its icon.
  const title = () => {
    const said = document.querySelector("[data-title]");
    if (!said) return;
    document.title = said.dataset.title;
    const icon = document.querySelector("link[rel=icon]");
    const shown = `/static/${said.dataset.icon}.svg`;
    if (icon.getAttribute("href") !== shown) icon.href = shown;
  };

  // Who is elsewhere is told that the run has ended, or that rows need attention, if they want it.
  const told = (how) => `callsheet-tell-${how}`;
  const wants = (how) => localStorage.getItem(told(how)) === "on";
  const mayNotify = () => "Notification" in window && Notification.permission === "granted";
  const ring = () => {
    const sound = new AudioContext();
    const [tone, volume] = [sound.createOscillator(), sound.createGain()];
    volume.gain.value = 0.15;
    tone.connect(volume).connect(sound.destination);
    tone.start();
    tone.stop(sound.currentTime + 0.4);
    tone.onended = () => sound.close();
  };
  let before = null;
  const tell = () => {
    const said = document.querySelector("[data-going]");
    if (!said) return;
    const now = { going: Number(said.dataset.going), needs: Number(said.dataset.needs) };
    const ended = before && before.going && !now.going;
    const needy = before && !before.needs && now.needs;
    before = now;
    if (!ended && !needy) return;
    const words = `${said.dataset.campaign}: ${ended ? "the run has ended" : "rows need attention"}`;
    const more = { body: said.textContent.trim(), icon: `/static/${said.dataset.icon}.svg`, tag: location.pathname };
    if (wants("notify") && mayNotify()) new Notification(words, more).onclick = () => window.focus();
    if (wants("sound")) ring();
  };
  const choose = async (box) => {
    const how = box.dataset.tell;
    if (box.checked && how === "notify") {
      if ("Notification" in window) await Notification.requestPermission();
      box.checked = mayNotify();
      document.getElementById("not-allowed").textContent = box.checked
        ? "" : "Your browser does not let this page notify you. Allow it in the browser’s settings of this page.";
    }
    if (box.checked && how === "sound") ring();
    localStorage.setItem(told(how), box.checked ? "on" : "off");
  };

  // A page that was opened before its run began has none of the rows that came with it.
  const follow = () => {
    const more = document.querySelector("[data-follow]") && document.querySelector("[data-more]");
    if (more && !document.querySelector("input[name=row]:checked")) location.replace(more.href);
  };

  const after = () => {
    follow();
    tick();
    local();
    title();
    tell();
    count();
  };
  document.addEventListener("htmx:after:swap", after);
  document.addEventListener("htmx:sse:after:message", after);

  // Text to take along.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const words = button.lastChild;
    const before = words.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      words.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      words.textContent = "Selected";
    }
    setTimeout(() => { words.textContent = before; }, 1600);
  });

  // A file dropped anywhere on the field's box.
  all(".drop").forEach((box) => {
    const field = box.querySelector("input[type=file]");
    const over = (is) => (event) => {
      event.preventDefault();
      box.classList.toggle("is-over", is);
    };
    box.addEventListener("dragover", over(true));
    box.addEventListener("dragleave", over(false));
    box.addEventListener("drop", (event) => {
      over(false)(event);
      if (event.dataTransfer.files.length) field.files = event.dataTransfer.files;
    });
  });

  // Which rows are chosen: "25 of 4,310 selected".
  const count = () => {
    const said = document.querySelector("[data-select-bar]");
    const boxes = all("input[name=row]");
    const chosen = boxes.filter((box) => box.checked);
    boxes.forEach((box) => box.closest("tr")?.classList.toggle("is-selected", box.checked));
    // A box for several rows says whether all of them are chosen, or some.
    const sum = (many, its) => {
      const some = its.filter((box) => box.checked).length;
      many.checked = some > 0 && some === its.length;
      many.indeterminate = some > 0 && some < its.length;
    };
    all("[data-select-all]").forEach((many) => sum(many, boxes));
    all("[data-select-group]").forEach((many) => {
      sum(many, [...many.closest("tbody").querySelectorAll("input[name=row]")]);
    });
    if (!said) return;
    // The bar covers rows only while some are selected.
    said.closest(".acts").classList.toggle("is-idle", chosen.length === 0);
    said.textContent = chosen.length
      ? `${chosen.length} of ${said.dataset.of} selected`
      : said.dataset.selectBar;
  };
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-select-all]")) {
      all("input[name=row]").forEach((box) => { box.checked = event.target.checked; });
    }
    if (event.target.matches("[data-select-group]")) {
      event.target.closest("tbody").querySelectorAll("input[name=row]").forEach((box) => {
        box.checked = event.target.checked;
      });
    }
    if (event.target.matches("[data-tell]")) choose(event.target);
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
    if (event.target.matches("[data-keys-off]")) {
      localStorage.setItem("callsheet-keys", event.target.checked ? "off" : "on");
    }
    count();
  });

  // Keys: off in fields, and where somebody turned them off. None of them spends or decides.
  const keys = () => document.getElementById("keys");
  const toggle = () => (keys().open ? keys().close() : keys().showModal());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys]")) toggle();
  });
  const step = (by) => {
    // Not those of a row of variants that is closed.
    const rows = all("[data-row]").filter((row) => row.getClientRects().length);
    if (!rows.length) return false;
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
    next.querySelector("a:not([aria-hidden]), summary").focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  };
  const pick = () => {
    const row = document.activeElement.closest("[data-row]");
    const box = row && row.querySelector("input[type=checkbox]");
    if (box) box.click();
    return Boolean(box);
  };
  const find = () => {
    const field = document.querySelector("input[type=search]");
    if (field) field.focus();
    return Boolean(field);
  };
  const KEYS = { "?": () => { toggle(); return true; }, "/": find, j: () => step(1), k: () => step(-1), x: pick };
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("input:not([type=checkbox],[type=radio]), textarea, select");
    if (event.key === "Escape" && field) field.blur();
    if (field || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (localStorage.getItem("callsheet-keys") === "off" && event.key !== "?") return;
    if (document.body.dataset.ownKeys !== undefined && event.key !== "?") return;
    if (keys().open && event.key !== "?") return;
    if (KEYS[event.key] && KEYS[event.key]()) event.preventDefault();
  });

  const off = document.querySelector("[data-keys-off]");
  if (off) off.checked = localStorage.getItem("callsheet-keys") === "off";
  all("[data-tell]").forEach((box) => {
    box.checked = wants(box.dataset.tell) && (box.dataset.tell !== "notify" || mayNotify());
  });
  setInterval(tick, 15000);
  after();
})();
