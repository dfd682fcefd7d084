// A client in a page's script of its own: it declares a tool, computes what the model asks of it, and waits for the
// answer. Sizes of speech are in samples.
async ({width, height}) => {
  const socket = new WebSocket(`ws://${location.host}/ws/browser/tool-1`, 'realtime.v1');
  const said = {calls: [], sent: [], results: [], responses: [], speechOf: {}, transcript: ''};
  const send = (event) => socket.send(JSON.stringify(event));
  const tools = {area: ({width, height}) => `${width * height} square metres`};
  const declared = {
    name: 'area',
    description: 'Work out an area.',
    parameters: {type: 'object', properties: {width: {type: 'number'}, height: {type: 'number'}}},
  };
  const react = {
    agent_ready: () => send({type: 'client_text_append', text: `${width} by ${height}`}),
    agent_response_created: ({response_id}) => said.responses.push(response_id),
    agent_response_tool_use_done: ({tool_use: {id, name, input}}) => {
      const output = tools[name](JSON.parse(input));
      said.calls.push({name, input});
      said.sent.push(output);
      send({type: 'client_tool_result', id, name, output});
    },
    agent_response_tool_result: ({tool_result}) => said.results.push(tool_result.output),
    agent_response_audio_delta: ({response_id, delta}) => {
      said.speechOf[response_id] = (said.speechOf[response_id] ?? 0) + atob(delta).length / 2;
    },
    agent_response_audio_transcript_done: ({transcript}) => { said.transcript = transcript; },
  };
  socket.onopen = () => send({type: 'client_session_create', config: {tools: [declared]}});
  return new Promise((resolve, reject) => {
    socket.onclose = ({code}) => reject(new Error(`closed with ${code}: ${JSON.stringify(said)}`));
    socket.onmessage = ({data}) => {
      const event = JSON.parse(data);
      react[event.type]?.(event);
      if (event.type === 'agent_error') reject(new Error(event.message));
      if (event.type !== 'agent_response_done' || said.transcript === '') return;
      socket.onclose = () => resolve(said);
      socket.close(1000);
    };
  });
}
