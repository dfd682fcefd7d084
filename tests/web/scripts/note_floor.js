// Notes every lane that is marked with the floor, in order.
(() => {
  window.floors = [];
  const look = () => {
    const marked = [...document.querySelectorAll('.lane[data-floor="true"] .lane-name')];
    const now = marked.map((name) => name.textContent).join(' and ');
    if (now !== window.floors.at(-1)) window.floors.push(now);
  };
  const options = {subtree: true, childList: true, attributes: true, attributeFilter: ['data-floor']};
  new MutationObserver(look).observe(document, options);
})()
