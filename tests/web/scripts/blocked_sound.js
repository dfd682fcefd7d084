// Holds sound back, as browsers do with a page that was not touched yet.
const state = Object.getOwnPropertyDescriptor(BaseAudioContext.prototype, 'state').get;
const resume = AudioContext.prototype.resume;
let blocked = true;
Object.defineProperty(BaseAudioContext.prototype, 'state', {
  get() { return blocked && state.call(this) === 'running' ? 'suspended' : state.call(this); },
});
const contexts = [];
AudioContext.prototype.resume = function () {
  contexts.push(this);
  return blocked ? Promise.reject(new DOMException('', 'NotAllowedError')) : resume.call(this);
};
window.allow = () => {
  blocked = false;
  for (const context of contexts) context.dispatchEvent(new Event('statechange'));
};
