// Starts the script: plots react to the reader, and samples are drawn. The rest of the page needs no script.

figures();
for (const section of document.querySelectorAll("section.samples")) {
  // Samples are unpacked and drawn when the reader scrolls near them.
  new IntersectionObserver(([seen], observer) => {
    if (!seen.isIntersecting) return;
    observer.disconnect();
    section.explorer = new Explorer(section);
  }, { rootMargin: "400px" }).observe(section);
}
