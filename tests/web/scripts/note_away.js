// Notes the activity of those who are away.
(() => {
  window.away = [];
  const look = () => {
    for (const lane of document.querySelectorAll('.lane[data-away="true"]')) {
      const [name, doing] = ['.lane-name', '.doing'].map((part) => lane.querySelector(part).textContent);
      window.away.push(`${name}: ${doing}`);
    }
  };
  new MutationObserver(look).observe(document.getElementById('lanes'), {subtree: true, attributes: true});
})()
