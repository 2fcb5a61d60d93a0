// Lets a model answer the last message of a chat, and keeps what comes.

// Fills `answer`, a message of the chat, and calls changed() when there is more to show, at most once a frame. Does not
// throw: what goes wrong is a part of the answer.
export async function fill(answer, parts, changed) {
  let frame = 0;
  const soon = () => { frame ||= requestAnimationFrame(() => { frame = 0; changed(); }); };
  answer.begun = performance.now();
  try {
    for await (const {text, thought, note, usage} of parts) {
      if (text || thought) {
        answer.last = performance.now();
        answer.first ??= answer.last;
      }
      if (text) answer.text += text;
      if (thought) answer.thought = (answer.thought ?? "") + thought;
      if (note) (answer.notes ??= []).push(note);
      if (usage) answer.usage = usage;
      soon();
    }
    if (!answer.text && !answer.thought) (answer.notes ??= []).push("The model answered with nothing.");
  } catch (error) {
    if (error.name === "AbortError") answer.stopped = true;
    else answer.error = error.message;
  } finally {
    cancelAnimationFrame(frame);
    delete answer.writing;
  }
}
