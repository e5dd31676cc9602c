// The page is complete without scripts, but for single requests; with them its plots answer.

figures();
for (const section of document.querySelectorAll("section.samples")) {
  // Unpacking and drawing wait until somebody comes near.
  new IntersectionObserver(([seen], observer) => {
    if (!seen.isIntersecting) return;
    observer.disconnect();
    section.explorer = new Explorer(section);
  }, { rootMargin: "400px" }).observe(section);
}
