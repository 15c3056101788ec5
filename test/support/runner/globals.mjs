// The module that tests import as `@jest/globals`. Test files share the modules that import it, so each function here calls the
// function of the test file that runs now.
let current = {};

/** Sets the functions of the test file that is about to be loaded. */
export function setGlobals(globals) {
  current = globals;
}

const ofCurrentFile = (name) =>
  new Proxy(() => undefined, {
    apply: (_target, self, args) => Reflect.apply(current[name], self, args),
    get: (_target, key) => current[name][key],
  });

export const expect = ofCurrentFile('expect');
export const test = ofCurrentFile('test');
export const it = test;
export const describe = ofCurrentFile('describe');
export const beforeAll = ofCurrentFile('beforeAll');
export const beforeEach = ofCurrentFile('beforeEach');
export const afterEach = ofCurrentFile('afterEach');
export const afterAll = ofCurrentFile('afterAll');
export const jest = new Proxy({}, { get: (_target, key) => current.jest[key] });
