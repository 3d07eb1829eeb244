// SPDX-License-Identifier: BSL-1.0
//
// Drives a headless Chromium through its debugging pipe: messages are JSON, each ended by a zero byte.

import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const ARGUMENTS = [
  '--headless', '--remote-debugging-pipe', '--disable-gpu', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--mute-audio', '--disable-dev-shm-usage', '--hide-scrollbars',
  '--no-sandbox', // tests often run as root, where the sandbox refuses; the pages are our own
];
const TIMEOUT = 600_000;

export class Browser {
  static async start(program) {
    const browser = new Browser(program);
    await browser.send('Browser.getVersion');
    return browser;
  }

  constructor(program) {
    this.folder = mkdtempSync(join(tmpdir(), 'tidemark-browser-'));
    this.process = spawn(program, [...ARGUMENTS, `--user-data-dir=${this.folder}`, 'about:blank'],
                         {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.pending = new Map();
    this.listeners = new Map();
    this.next = 0;
    this.ended = new Promise((resolve) => this.process.once('close', resolve));
    this.process.once('error', (error) => this.#fail(error));
    this.process.once('close', (status) => this.#fail(new Error(`${program} ended with status ${status}`)));
    for (const end of [this.process.stdio[3], this.process.stdio[4]]) end.on('error', (error) => this.#fail(error));
    let text = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (chunk) => {
      const messages = (text + chunk).split('\0');
      text = messages.pop();
      messages.forEach((message) => this.#receive(JSON.parse(message)));
    });
  }

  #fail(error) {
    this.broken ??= error;
    for (const {reject} of this.pending.values()) reject(this.broken);
    this.pending.clear();
  }

  #receive({id, result, error, method, params, sessionId}) {
    if (id === undefined) {
      this.listeners.get(sessionId)?.(method, params);
      return;
    }
    const waiting = this.pending.get(id);
    this.pending.delete(id);
    if (error) waiting?.reject(new Error(`${waiting.method}: ${error.message}`));
    else waiting?.resolve(result);
  }

  /// Sends one command and returns its result.
  send(method, params = {}, sessionId = undefined) {
    if (this.broken) return Promise.reject(this.broken);
    const id = ++this.next;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${method}: no answer for ${TIMEOUT / 1000} seconds`)), TIMEOUT);
      const settle = (act) => (value) => {
        clearTimeout(late);
        act(value);
      };
      this.pending.set(id, {method, resolve: settle(resolve), reject: settle(reject)});
      this.process.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    });
  }

  async open(path) {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, targetId, sessionId);
    await page.load(path);
    return page;
  }

  async close() {
    await this.send('Browser.close').catch(() => this.process.kill('SIGKILL'));
    await this.ended;
    rmSync(this.folder, {recursive: true, force: true, maxRetries: 5, retryDelay: 100});
  }
}

class Page {
  constructor(browser, targetId, sessionId) {
    Object.assign(this, {browser, targetId, sessionId, complaints: [], width: 1280, height: 720});
    this.loaded = new Promise((resolve) => {
      browser.listeners.set(sessionId, (method, params) => {
        if (method === 'Page.loadEventFired') resolve();
        this.#note(method, params);
      });
    });
  }

  /// Everything that a browser's console would show is a complaint.
  #note(method, params) {
    if (method === 'Runtime.exceptionThrown') {
      const {exceptionDetails: details} = params;
      this.complaints.push(details.exception?.description ?? details.text);
    } else if (method === 'Runtime.consoleAPICalled') {
      const words = params.args.map((one) => one.value ?? one.description);
      this.complaints.push(`console.${params.type}: ${words.join(' ')}`);
    } else if (method === 'Log.entryAdded') {
      this.complaints.push(`${params.entry.source}: ${params.entry.text}`);
    }
  }

  send(method, params = {}) { return this.browser.send(method, params, this.sessionId); }

  async load(path) {
    for (const domain of ['Page', 'Runtime', 'Log']) await this.send(`${domain}.enable`);
    await this.resize(this.width, this.height);
    await this.send('Page.navigate', {url: pathToFileURL(path).href});
    await this.loaded;
    await this.drawn();
  }

  async resize(width, height) {
    Object.assign(this, {width, height});
    await this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  }

  async prefer(scheme) {
    const features = [{name: 'prefers-color-scheme', value: scheme}, {name: 'hover', value: 'hover'}];
    await this.send('Emulation.setEmulatedMedia', {features});
  }

  /// Returns the value of an expression, which may be a promise.
  async evaluate(expression) {
    const parameters = {expression, awaitPromise: true, returnByValue: true};
    const {result, exceptionDetails: details} = await this.send('Runtime.evaluate', parameters);
    if (details) throw new Error(details.exception?.description ?? details.text);
    return result.value;
  }

  /// Returns once the page has drawn what it was told before.
  async drawn() {
    await this.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  }

  async key(key) {
    const text = key.length === 1 ? key : undefined;
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', key, text});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', key});
  }

  async mouse(type, x, y, more = {}) {
    await this.send('Input.dispatchMouseEvent', {type, x, y, ...more});
  }

  async click(x, y) {
    await this.mouse('mouseMoved', x, y);
    for (const type of ['mousePressed', 'mouseReleased']) await this.mouse(type, x, y, {button: 'left', clickCount: 1});
  }

  async screenshot() {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
    return Buffer.from(data, 'base64');
  }

  async close() {
    await this.browser.send('Target.closeTarget', {targetId: this.targetId});
    this.browser.listeners.delete(this.sessionId);
  }
}
