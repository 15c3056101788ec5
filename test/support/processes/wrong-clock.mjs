// Preloaded into a service: its wall clock is off by what the environment says, and jumps when it is told to. Timers and
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

process.on('message', (told) => {
  offset = told;
  process.send('jumped');
});
process.channel?.unref();
