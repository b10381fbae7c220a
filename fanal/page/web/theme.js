// Sets the theme a visitor chose before the first paint; a classic script, so that no light flash precedes a dark page.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("fanal-theme");
  } catch {
    // storage is blocked: the system's theme holds
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
