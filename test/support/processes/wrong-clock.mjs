// Preloaded into a service: its wall clock is off by what the environment says, and jumps on a message. Timers and
// `performance` count on, as they do on a machine whose clock is set.
const Actual = Date;
let offset = Number(process.env.TEST_CLOCK_OFFSET ?? 0);

globalThis.Date = class Date extends Actual {
  constructor(...given) {
    super(...(given.length > 0 ? given : [Actual.now() + offset]));
  }

  static now() {
    return Actual.now() + offset;
  }
};

process.on('message', (milliseconds) => {
  offset = milliseconds;
  process.send('jumped');
});
process.channel?.unref();
