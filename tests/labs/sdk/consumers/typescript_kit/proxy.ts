// A proxy in front of the service, which counts requests and can be told to fail.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Failure = "close" | "silence" | number;

export class Proxy {
  readonly requests: string[] = [];
  /** What happens to the next requests, in this order; later ones are passed on. */
  failures: Failure[] = [];
  readonly #server: Server;
  #port = 0;

  constructor(readonly target: string) {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<this> {
    await new Promise<void>((listening) => this.#server.listen(this.#port, "127.0.0.1", listening));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async close(): Promise<void> {
    const closed = new Promise((resume) => this.#server.close(resume));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests.push(`${request.method} ${request.url}`);
    const failure = this.failures.shift();
    if (failure === "silence") return;
    if (failure === "close") request.socket.destroy();
    else if (failure !== undefined) response.writeHead(failure, { "Retry-After": failure === 429 ? "1" : "0" }).end("no");
    else await this.#passOn(request, response);
  }

  async #passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/" } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = new Headers({ "Content-Type": request.headers["content-type"] ?? "" });
    if (request.headers.authorization) headers.set("Authorization", request.headers.authorization);
    const body = method === "GET" ? null : Buffer.concat(chunks);
    const passed = await fetch(this.target + url, { method, headers, body });
    response.writeHead(passed.status, { "Content-Type": "application/json" }).end(await passed.text());
  }
}
